#include "tools/server/session/session_snapshots.h"

#include <exception>
#include <utility>

#include "tools/cli/seconds.h"
#include "tools/server/resources/rated_log.h"
#include "tools/server/store/snapshot_token.h"
#include "tools/server/store/stored_session.h"

namespace runnel::server {

SessionSnapshots::SessionSnapshots(const Services& services, std::string account,
                                   std::shared_ptr<SessionMailbox> mailbox)
    : services_(services),
      account_(std::move(account)),
      token_(NewSnapshotToken()),
      mailbox_(std::move(mailbox)) {}

void SessionSnapshots::OnUpdate(LiveStream* stream, const LiveUpdate& update) {
  bool is_last = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Utterance& utterance : update.utterances) history_.Add(utterance);
    is_last = std::exchange(waits_for_update_, false);
  }
  if (update.is_final) return;
  if (is_last) return TakeLast(stream);
  const double interval_ms = services_.limits.snapshot_interval_s * 1000;
  if (next_ms_ == 0) next_ms_ = update.audio_ms + interval_ms;
  if (update.audio_ms < next_ms_) return;
  if (is_storing_) return CountLate();
  // A snapshot would decode itself what a flush waits for.
  if (stream->is_finalizing()) return;
  next_ms_ = update.audio_ms + interval_ms;
  if (!services_.store_threads->HasRoom(last_size_, account_)) {
    services_.metrics->CountSnapshot(SnapshotResult::kSkipped);
    return;
  }
  TakeNow(stream);
}

// Once for each interval that the snapshot before waits for the store.
void SessionSnapshots::CountLate() {
  if (Clock::now() < late_at_) return;
  late_at_ = Clock::now() + Seconds(services_.limits.snapshot_interval_s);
  services_.metrics->CountSnapshot(SnapshotResult::kLate);
}

void SessionSnapshots::TakeNow(LiveStream* stream) {
  try {
    std::optional<Snapshot> snapshot = Take(stream, /*is_last=*/false);
    if (!snapshot.has_value()) return;
    last_size_ = snapshot->bytes.size();
    late_at_ = Clock::now() + Seconds(services_.limits.snapshot_interval_s);
    Store(*std::move(snapshot));
  } catch (const std::exception& error) {
    LogRated(LogLevel::kWarning, "snapshot", error.what());
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
      account_, size);
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
    services_.snapshot_store->Put(token_, snapshot.bytes, {account_, resumed_token()});
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
  const auto task = [self = shared_from_this(), stream] {
    if (self->mailbox_->is_closed()) return;  // the session has ended
    self->TakeLast(stream.get());
  };
  if (!services_.store_threads->RunFirst(task, account_)) mailbox_->PutDrained();
}

// On a store thread, or in the update callback: then a store thread puts the snapshot.
void SessionSnapshots::TakeLast(LiveStream* stream) {
  try {
    std::optional<Snapshot> snapshot = Take(stream, /*is_last=*/true);
    if (!snapshot.has_value()) return;  // OnUpdate comes here soon
    const auto task = [self = shared_from_this(), snapshot = *std::move(snapshot)] {
      self->Put(snapshot);
      self->mailbox_->PutDrained();
    };
    if (services_.store_threads->RunFirst(task, account_)) return;
  } catch (const std::exception& error) {
    LogRated(LogLevel::kWarning, "snapshot", error.what());
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
  const auto task = [self = shared_from_this(), resumed] {
    try {
      self->services_.snapshot_store->Remove(resumed);
    } catch (const std::exception& error) {
      LogStoreError(error);
    }
  };
  services_.store_threads->Run(task, account_);
}

void SessionSnapshots::Forget() {
  is_forgotten_ = true;
  const std::string resumed = resumed_token();
  if (!has_stored_ && resumed.empty()) return;
  const auto task = [self = shared_from_this(), resumed] {
    try {
      if (self->has_stored_) self->services_.snapshot_store->Remove(self->token_);
      if (!resumed.empty()) self->services_.snapshot_store->Remove(resumed);
    } catch (const std::exception& error) {
      LogStoreError(error);
    }
  };
  services_.store_threads->Run(task, account_);
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
  LogRated(LogLevel::kWarning, "snapshot store", error.what());
}

}  // namespace runnel::server
