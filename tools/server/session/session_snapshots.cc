#include "tools/server/session/session_snapshots.h"

#include <glog/logging.h>

#include <exception>
#include <utility>

#include "runtime/text/first_line.h"
#include "tools/server/store/snapshot_token.h"
#include "tools/server/store/stored_session.h"

namespace runnel::server {

SessionSnapshots::SessionSnapshots(const Services& services,
                                   std::shared_ptr<SessionMailbox> mailbox)
    : services_(services), token_(NewSnapshotToken()), mailbox_(std::move(mailbox)) {}

void SessionSnapshots::OnUpdate(LiveStream* stream, const LiveUpdate& update) {
  bool is_last = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Utterance& utterance : update.utterances) history_.Add(utterance);
    is_last = std::exchange(waits_for_update_, false);
  }
  if (update.is_final) return;
  if (is_last) return TakeLast(stream);
  // A snapshot would decode itself what a flush waits for.
  if (is_storing_ || stream->is_finalizing()) return;
  if (next_ms_ == 0) next_ms_ = update.audio_ms + services_.limits.snapshot_interval_s * 1000;
  if (update.audio_ms < next_ms_) return;
  next_ms_ = update.audio_ms + services_.limits.snapshot_interval_s * 1000;
  if (!services_.store_threads->HasRoom(last_size_)) {
    services_.metrics->CountSnapshot(SnapshotResult::kSkipped);
    return;
  }
  TakeNow(stream);
}

void SessionSnapshots::TakeNow(LiveStream* stream) {
  try {
    std::optional<Snapshot> snapshot = Take(stream, /*is_last=*/false);
    if (!snapshot.has_value()) return;
    last_size_ = snapshot->bytes.size();
    Store(*std::move(snapshot));
  } catch (const std::exception& error) {
    LOG(WARNING) << "snapshot: " << FirstLine(error.what());
    services_.metrics->CountSnapshot(SnapshotResult::kFailed);
  }
}

std::optional<SessionSnapshots::Snapshot> SessionSnapshots::Take(LiveStream* stream, bool is_last) {
  StoredSession session;
  // Read before the snapshot is taken: samples accepted in between are in it, but not counted.
  const int64_t num_samples = stream->num_samples();
  session.stream = stream->Snapshot(&session.first_utterance);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (history_.next_index() < session.first_utterance) {
      waits_for_update_ = is_last;
      return std::nullopt;
    }
    session.utterances = history_.Pack(session.first_utterance);
  }
  return Snapshot{Pack(session), num_samples};
}

void SessionSnapshots::Store(Snapshot snapshot) {
  is_storing_ = true;
  const size_t size = snapshot.bytes.size();
  const bool is_taken = services_.store_threads->Run(
      [self = shared_from_this(), snapshot = std::move(snapshot)] {
        self->Put(snapshot);
        self->is_storing_ = false;
      },
      size);
  if (is_taken) return;
  is_storing_ = false;
  services_.metrics->CountSnapshot(SnapshotResult::kSkipped);
}

// Forget may be called at any moment: either Forget sees has_stored_, or Put sees is_forgotten_. A
// last snapshot overtakes older ones that wait.
void SessionSnapshots::Put(const Snapshot& snapshot) {
  const std::lock_guard<std::mutex> lock(put_mutex_);
  if (snapshot.num_samples < num_stored_) return;
  num_stored_ = snapshot.num_samples;
  has_stored_ = true;
  if (is_forgotten_) return;
  try {
    services_.snapshot_store->Put(token_, snapshot.bytes, resumed_token());
    if (is_forgotten_) return services_.snapshot_store->Remove(token_);
    services_.metrics->CountSnapshot(SnapshotResult::kStored);
    mailbox_->PutSnapshot({token_, snapshot.num_samples});
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
    self->TakeLast(stream.get());
  });
  if (!is_taken) mailbox_->PutDrained();
}

// On a store thread, or in the update callback: then a store thread puts the snapshot.
void SessionSnapshots::TakeLast(LiveStream* stream) {
  try {
    std::optional<Snapshot> snapshot = Take(stream, /*is_last=*/true);
    if (!snapshot.has_value()) return;  // OnUpdate comes here soon
    const bool is_taken = services_.store_threads->RunFirst(
        [self = shared_from_this(), snapshot = *std::move(snapshot)] {
          self->Put(snapshot);
          self->mailbox_->PutDrained();
        });
    if (is_taken) return;
  } catch (const std::exception& error) {
    LOG(WARNING) << "snapshot: " << FirstLine(error.what());
  }
  mailbox_->PutDrained();
}

void SessionSnapshots::SetResumed(const std::string& token, UtteranceHistory history) {
  const std::lock_guard<std::mutex> lock(mutex_);
  resumed_token_ = token;
  history_ = std::move(history);
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

UpdateCallback MakeUpdateCallback(Metrics* metrics,
                                  const std::shared_ptr<SessionSnapshots>& snapshots,
                                  const std::shared_ptr<SessionMailbox>& mailbox) {
  return [metrics, snapshots, mailbox](LiveStream& stream, const LiveUpdate& update) {
    mailbox->PutUpdate(update);  // first: a snapshot takes time
    metrics->ObserveUtterances(update);
    if (snapshots != nullptr) snapshots->OnUpdate(&stream, update);
  };
}

void LogStoreError(const std::exception& error) {
  constexpr double kIntervalS = 1;
  LOG_EVERY_T(WARNING, kIntervalS) << "snapshot store: " << FirstLine(error.what());
}

}  // namespace runnel::server
