// What other threads have for a session, until it comes to take it.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below live_session).
#ifndef RUNNEL_TOOLS_SERVER_SESSION_MAILBOX_H_
#define RUNNEL_TOOLS_SERVER_SESSION_MAILBOX_H_

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
#include "tools/server/protocol.h"

namespace runnel::server {

// Thread-safe. Never holds more than one update, merged from all that came, one snapshot, one
// restored stream and the messages of one update. `wake` is called once for all that is put in
// before the next Open.
class SessionMailbox {
 public:
  using Clock = std::chrono::steady_clock;

  struct Update {
    LiveUpdate update;
    std::optional<Clock::time_point> chunk_accepted;  // of the oldest chunk in it
  };
  struct Snapshot {
    std::string token;
    int64_t num_samples = 0;
  };
  // A stream, or why there is none.
  struct Restored {
    std::shared_ptr<LiveStream> stream;
    ProtocolError error;
  };

  explicit SessionMailbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void PutUpdate(const LiveUpdate& update) {
    Put([&] {
      if (update_.has_value()) {
        update_->update.Append(update);
      } else {
        update_ = Update{update, std::nullopt};
      }
      if (update.accepted_at != Clock::time_point() && !update_->chunk_accepted.has_value()) {
        update_->chunk_accepted = update.accepted_at;
      }
    });
  }
  void PutSnapshot(Snapshot snapshot) {
    Put([&] { snapshot_ = std::move(snapshot); });
  }
  void PutRestored(Restored restored) {
    Put([&] { restored_ = std::move(restored); });
  }
  // The messages of the final update; none: they could not be made.
  void PutFinal(std::vector<std::string> texts) {
    Put([&] { final_ = std::move(texts); });
  }
  void PutRoom() {
    Put([&] { has_room_ = true; });
  }
  void PutDrained() {
    Put([&] { is_drained_ = true; });
  }

  // Nothing is kept any more, nor wakes: the session is over. Breaks the circle of a restored
  // stream and its callback.
  void Close() {
    std::optional<Restored> dropped;  // outside the lock: a stream that ends waits for its callback
    const std::lock_guard<std::mutex> lock(mutex_);
    is_closed_ = true;
    dropped.swap(restored_);
    update_.reset();
    snapshot_.reset();
    final_.reset();
  }

  // From now on everything put in calls `wake` anew.
  void Open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_woken_ = false;
  }
  std::optional<Update> TakeUpdate() { return Take(&update_); }
  std::optional<Snapshot> TakeSnapshot() { return Take(&snapshot_); }
  std::optional<Restored> TakeRestored() { return Take(&restored_); }
  std::optional<std::vector<std::string>> TakeFinal() { return Take(&final_); }
  bool TakeRoom() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(has_room_, false);
  }
  bool TakeDrained() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(is_drained_, false);
  }

  bool is_closed() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return is_closed_;
  }
  bool has_update() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return update_.has_value();
  }
  // Memory that the update takes, about.
  size_t update_bytes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!update_.has_value()) return 0;
    return update_->update.stable_text.size() + update_->update.tokens.size() * sizeof(Token);
  }

 private:
  template <typename Change>
  void Put(Change change) {
    bool wakes = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (is_closed_) return;
      change();
      wakes = !std::exchange(is_woken_, true);
    }
    if (wakes) wake_();
  }

  template <typename Item>
  std::optional<Item> Take(std::optional<Item>* item) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(*item, std::nullopt);
  }

  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::optional<Update> update_;
  std::optional<Snapshot> snapshot_;
  std::optional<Restored> restored_;
  std::optional<std::vector<std::string>> final_;
  bool has_room_ = false;
  bool is_drained_ = false;
  bool is_woken_ = false;
  bool is_closed_ = false;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_MAILBOX_H_
