// Keeps snapshots of a session's stream in the snapshot store, and resumes a stream from one.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_SESSION_SNAPSHOTS_H_
#define RUNNEL_TOOLS_SERVER_SESSION_SESSION_SNAPSHOTS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/live_stream.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/resources/services.h"
#include "tools/server/session/session_mailbox.h"
#include "tools/server/store/utterance_history.h"

namespace runnel::server {

// Thread-safe. All snapshots of a connection have one token, and every connection has its own. A
// connection that has died without the server's knowledge therefore cannot overwrite the snapshots
// of the connection that resumed its stream.
class SessionSnapshots : public std::enable_shared_from_this<SessionSnapshots> {
 public:
  // `services`, which have a snapshot store, outlive this object. `account`: whose share of the
  // store and whose turns of the store threads this takes. Stored snapshots are put into the
  // mailbox.
  SessionSnapshots(const Services& services, std::string account,
                   std::shared_ptr<SessionMailbox> mailbox);

  // The snapshot from which the stream is resumed, to be called before its first update. It is
  // removed when the stream ends, or when two newer ones were sent to the client: the first of them
  // may be lost with the connection. `history`: utterances that its client may still lack.
  void SetResumed(const std::string& token, UtteranceHistory history);

  // To be called in the stream's update callback. Takes a snapshot when snapshot_interval_s has
  // passed since the last one and the last one is stored. If it is not, the snapshot is late.
  void OnUpdate(LiveStream* stream, const LiveUpdate& update);

  // The message about a snapshot was sent to the client. Called on the session's thread.
  void OnSent();

  // Stores a last snapshot of all samples accepted. SessionMailbox::PutDrained follows when the
  // store has answered, whether that succeeds or not.
  void Drain(const std::shared_ptr<LiveStream>& stream);

  // The stream ended as its client wanted, and will not be resumed: removes its snapshots from the
  // store, and drops those that wait to be stored.
  void Forget();

 private:
  using Clock = std::chrono::steady_clock;

  struct Snapshot {
    std::string bytes;        // Pack of a StoredSession
    int64_t num_samples = 0;  // a lower bound of the samples in it
  };

  // The stream may have brought an utterance by an update of which OnUpdate does not know yet. Then
  // there is no snapshot, and if `is_last`, that call of OnUpdate takes the last one.
  std::optional<Snapshot> Take(LiveStream* stream, bool is_last);
  void CountLate();
  void TakeNow(LiveStream* stream);
  void TakeLast(LiveStream* stream);
  void Store(Snapshot snapshot);
  void Put(const Snapshot& snapshot);
  std::string resumed_token() const;

  const Services& services_;
  const std::string account_;
  const std::string token_;
  const std::shared_ptr<SessionMailbox> mailbox_;
  mutable std::mutex mutex_;       // of the next three members
  std::string resumed_token_;      // "": the stream began with this connection
  UtteranceHistory history_;       // of the updates so far
  bool waits_for_update_ = false;  // OnUpdate is to take the last snapshot
  std::mutex put_mutex_;       // held during a call of the store, so that the newest snapshot wins
  int64_t num_stored_ = -1;    // samples of the newest snapshot that the store was given
  double next_ms_ = 0;         // of audio; only in the update callback
  int num_sent_ = 0;           // only in OnSent
  size_t last_size_ = 1;       // bytes of the last snapshot; only in the update callback
  Clock::time_point late_at_;  // when CountLate counts; only in the update callback
  std::atomic<bool> is_storing_{false};
  std::atomic<bool> has_stored_{false};  // set before the store is called
  std::atomic<bool> is_forgotten_{false};
};

// The callback of a session's stream. `snapshots` may be null. `metrics` outlive the stream.
UpdateCallback MakeUpdateCallback(Metrics* metrics,
                                  const std::shared_ptr<SessionSnapshots>& snapshots,
                                  const std::shared_ptr<SessionMailbox>& mailbox);

// On a store thread, in a turn of `account`, fetches the snapshot that `request` names and restores
// its stream. The stream, or the reason for a failure, is put into the mailbox; later updates of
// the stream too. New snapshots of the stream are taken by `snapshots`. `services` outlive the
// task.
void ResumeStream(const Services& services, const std::string& account,
                  const ResumeRequest& request, const std::shared_ptr<SessionSnapshots>& snapshots,
                  const std::shared_ptr<SessionMailbox>& mailbox);

// Once a second at most: while the store is unreachable, every stream fails every time.
void LogStoreError(const std::exception& error);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_SESSION_SNAPSHOTS_H_
