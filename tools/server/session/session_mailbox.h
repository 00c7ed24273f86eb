// Carries results from other threads to a session's thread.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_SESSION_MAILBOX_H_
#define RUNNEL_TOOLS_SERVER_SESSION_SESSION_MAILBOX_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/live_stream.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server {

// Thread-safe. Holds one item of each kind at most: updates are merged into one, and a newer item
// of another kind replaces an older one. The first Put after Open calls `wake`.
class SessionMailbox {
 public:
  using Clock = std::chrono::steady_clock;

  struct Update {
    LiveUpdate update;
    std::optional<Clock::time_point> chunk_accepted;  // of the oldest chunk in it
    size_t utterance_bytes = 0;                       // memory of its utterances
  };
  struct Snapshot {
    std::string token;
    int64_t num_samples = 0;  // that the snapshot contains, from the start of the audio
  };
  // A resumed stream, or null and the reason.
  struct Resumed {
    std::shared_ptr<LiveStream> stream;
    ProtocolError error;
    // That the client may lack; the stream brings those that follow.
    std::vector<Utterance> utterances;
    int64_t first_utterance = 0;  // that the client is sent
  };
  // A task has ended. `then` is for the session to call, unless there is an error.
  struct Done {
    std::function<void()> then;
    std::string error;
  };

  explicit SessionMailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void PutUpdate(const LiveUpdate& update);
  void PutSnapshot(Snapshot snapshot);
  void PutResumed(Resumed resumed);
  void PutDone(Done done);
  // The stream has room for more samples.
  void PutRoom();
  // The last snapshot of a server that shuts down was stored, or has failed.
  void PutDrained();

  std::optional<Update> TakeUpdate() { return Take(&update_); }
  std::optional<Snapshot> TakeSnapshot() { return Take(&snapshot_); }
  std::optional<Resumed> TakeResumed() { return Take(&resumed_); }
  std::optional<Done> TakeDone() { return Take(&done_); }
  bool TakeRoom();
  bool TakeDrained();

  // The next Put calls `wake` again.
  void Open();

  // Drops the items, and those of every later Put. The session calls it when it ends: a resumed
  // stream and the mailbox in its callback would otherwise own each other.
  void Close();
  bool is_closed() const;

  // Memory of the text, the tokens and the utterances in the update.
  size_t update_bytes() const;

 private:
  template <typename Change>
  void Put(Change change);

  template <typename Item>
  std::optional<Item> Take(std::optional<Item>* item) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(*item, std::nullopt);
  }

  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::optional<Update> update_;
  std::optional<Snapshot> snapshot_;
  std::optional<Resumed> resumed_;
  std::optional<Done> done_;
  bool has_room_ = false;
  bool is_drained_ = false;
  bool is_woken_ = false;
  bool is_closed_ = false;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_SESSION_MAILBOX_H_
