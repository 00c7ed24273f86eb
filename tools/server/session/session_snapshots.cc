#include "tools/server/session/session_snapshots.h"

#include <glog/logging.h>

#include <exception>
#include <utility>

#include "runtime/text/first_line.h"
#include "tools/server/store/snapshot_token.h"

namespace runnel::server {

SessionSnapshots::SessionSnapshots(const Services& services,
                                   std::shared_ptr<SessionMailbox> mailbox)
    : services_(services), token_(NewSnapshotToken()), mailbox_(std::move(mailbox)) {}

void SessionSnapshots::OnUpdate(LiveStream* stream, const LiveUpdate& update) {
  if (update.is_final || is_storing_) return;
  if (next_ms_ == 0) next_ms_ = update.audio_ms + services_.limits.snapshot_interval_s * 1000;
  if (update.audio_ms < next_ms_) return;
  next_ms_ = update.audio_ms + services_.limits.snapshot_interval_s * 1000;
  if (!services_.store_threads->HasRoom(last_size_)) {
    services_.metrics->CountSnapshot(SnapshotResult::kSkipped);
    return;
  }
  try {
    // Read before the snapshot is taken: samples accepted in between are in it, but not counted.
    const int64_t num_samples = stream->num_samples();
    std::string bytes = stream->Snapshot();
    last_size_ = bytes.size();
    Store(std::move(bytes), num_samples);
  } catch (const std::exception& error) {
    LOG(WARNING) << "snapshot: " << FirstLine(error.what());
    services_.metrics->CountSnapshot(SnapshotResult::kFailed);
  }
}

void SessionSnapshots::Store(std::string bytes, int64_t num_samples) {
  is_storing_ = true;
  const size_t size = bytes.size();
  const bool is_taken = services_.store_threads->Run(
      [self = shared_from_this(), bytes = std::move(bytes), num_samples] {
        self->Put(bytes, num_samples);
        self->is_storing_ = false;
      },
      size);
  if (is_taken) return;
  is_storing_ = false;
  services_.metrics->CountSnapshot(SnapshotResult::kSkipped);
}

// Forget may be called at any moment: either Forget sees has_stored_, or Put sees is_forgotten_. A
// last snapshot overtakes older ones that wait.
void SessionSnapshots::Put(const std::string& bytes, int64_t num_samples) {
  const std::lock_guard<std::mutex> lock(put_mutex_);
  if (num_samples < num_stored_) return;
  num_stored_ = num_samples;
  has_stored_ = true;
  if (is_forgotten_) return;
  try {
    services_.snapshot_store->Put(token_, bytes, resumed_token());
    if (is_forgotten_) return services_.snapshot_store->Remove(token_);
    services_.metrics->CountSnapshot(SnapshotResult::kStored);
    mailbox_->PutSnapshot({token_, num_samples});
  } catch (const SnapshotStoreFull& error) {
    LogStoreError(error);
    services_.metrics->CountSnapshot(SnapshotResult::kSkipped);
  } catch (const std::exception& error) {
    LogStoreError(error);
    services_.metrics->CountSnapshot(SnapshotResult::kFailed);
  }
}

void SessionSnapshots::Drain(const std::shared_ptr<LiveStream>& stream) {
  const bool is_taken = services_.store_threads->RunFirst([self = shared_from_this(), stream] {
    if (self->mailbox_->is_closed()) return;  // the session has ended
    try {
      const int64_t num_samples = stream->num_samples();
      self->Put(stream->Snapshot(), num_samples);
    } catch (const std::exception& error) {
      LOG(WARNING) << "snapshot: " << FirstLine(error.what());
    }
    self->mailbox_->PutDrained();
  });
  if (!is_taken) mailbox_->PutDrained();
}

void SessionSnapshots::SetResumedToken(const std::string& token) {
  const std::lock_guard<std::mutex> lock(mutex_);
  resumed_token_ = token;
}

std::string SessionSnapshots::resumed_token() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return resumed_token_;
}

void SessionSnapshots::OnSent() {
  const std::string resumed = resumed_token();
  if (++num_sent_ != 2 || resumed.empty()) return;
  services_.store_threads->Run([self = shared_from_this(), resumed] {
    try {
      self->services_.snapshot_store->Remove(resumed);
    } catch (const std::exception& error) {
      LogStoreError(error);
    }
  });
}

void SessionSnapshots::Forget() {
  is_forgotten_ = true;
  const std::string resumed = resumed_token();
  if (!has_stored_ && resumed.empty()) return;
  services_.store_threads->Run([self = shared_from_this(), resumed] {
    try {
      if (self->has_stored_) self->services_.snapshot_store->Remove(self->token_);
      if (!resumed.empty()) self->services_.snapshot_store->Remove(resumed);
    } catch (const std::exception& error) {
      LogStoreError(error);
    }
  });
}

UpdateCallback MakeUpdateCallback(const std::shared_ptr<SessionSnapshots>& snapshots,
                                  const std::shared_ptr<SessionMailbox>& mailbox) {
  return [snapshots, mailbox](LiveStream& stream, const LiveUpdate& update) {
    mailbox->PutUpdate(update);  // first: a snapshot takes time
    if (snapshots != nullptr) snapshots->OnUpdate(&stream, update);
  };
}

void LogStoreError(const std::exception& error) {
  constexpr double kIntervalS = 1;
  LOG_EVERY_T(WARNING, kIntervalS) << "snapshot store: " << FirstLine(error.what());
}

}  // namespace runnel::server
