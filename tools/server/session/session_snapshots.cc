#include "tools/server/session/session_snapshots.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "runtime/model.h"
#include "runtime/stream.h"
#include "runtime/text/first_line.h"
#include "tools/cli/seconds.h"
#include "tools/server/resources/rated_log.h"
#include "tools/server/resources/stream_request.h"
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

namespace {

SessionMailbox::Resumed Refused(ErrorCode code, const std::string& message) {
  return {nullptr, {code, message}, {}, 0};
}

// An utterance has at least one encoder frame. After the snapshot, the earlier connection may have
// brought as many as the rest of its audio has frames.
int64_t MostUtterances(const Services& services, const StoredSession& session) {
  constexpr double kDayS = 86400;
  const double max_audio_s = services.limits.max_audio_s;
  const double audio_s = max_audio_s > 0 ? max_audio_s : kDayS;
  const double frame_ms = services.recognizer->model()->encoder_frame_ms();
  return session.first_utterance + static_cast<int64_t>(audio_s * 1000 / frame_ms) + 1;
}

std::vector<Utterance> Since(int64_t index, std::vector<Utterance> utterances) {
  const auto is_before = [index](const Utterance& utterance) { return utterance.index < index; };
  utterances.erase(std::remove_if(utterances.begin(), utterances.end(), is_before),
                   utterances.end());
  return utterances;
}

SessionMailbox::Resumed Restore(const Services& services, const std::string& account,
                                const ResumeRequest& request,
                                const std::shared_ptr<SessionSnapshots>& snapshots,
                                const std::shared_ptr<SessionMailbox>& mailbox) {
  std::optional<std::string> stored;
  try {
    stored = services.snapshot_store->Get(request.token);
  } catch (const std::exception& error) {
    LogStoreError(error);
    return Refused(ErrorCode::kStoreUnavailable, "the store of snapshots cannot be reached");
  }
  if (!stored.has_value()) {
    return Refused(ErrorCode::kSnapshotUnknown, "no snapshot of this token, or it has expired");
  }
  try {
    const StoredSession session = UnpackSession(*stored);
    SessionMailbox::Resumed resumed;
    const Model& model = *services.recognizer->model();
    resumed.utterances = UtteranceHistory::Unpack(session.utterances, model.tokens());
    // A client that counts none has all that it wants.
    const int64_t num_utterances = request.num_utterances.value_or(session.first_utterance);
    if (const int64_t most = MostUtterances(services, session); num_utterances > most) {
      return Refused(ErrorCode::kBadOption,
                     "resume: utterances is " + std::to_string(num_utterances) +
                         ", expected at most " + std::to_string(most) +
                         ", the largest number that the stream can have had");
    }
    UtteranceHistory history(session.first_utterance);
    for (const Utterance& utterance : resumed.utterances) history.Add(utterance);
    history.ForgetBefore(num_utterances);
    resumed.utterances = Since(num_utterances, std::move(resumed.utterances));
    resumed.first_utterance = resumed.utterances.empty()
                                  ? std::max(num_utterances, session.first_utterance)
                                  : resumed.utterances.front().index;
    snapshots->SetResumed(request.token, std::move(history));
    RestoreOptions options;
    options.nbest = request.nbest;
    options.shared = services.default_options.Get()->values.stream.search;
    resumed.stream = services.recognizer->Restore(
        session.stream, MakeUpdateCallback(services.metrics, snapshots, mailbox), options, account);
    try {
      CheckResumed(resumed.stream->options(), *services.default_options.Get(), services.limits);
    } catch (const std::invalid_argument& error) {
      resumed.stream->Cancel();
      return Refused(ErrorCode::kBadOption, "resume: " + FirstLine(error.what()));
    }
    // As the stream shows its own, whatever the options of this server.
    const TokenTable& tokens = TextTokens(model, resumed.stream->options());
    for (Utterance& utterance : resumed.utterances) {
      for (Hypothesis& hypothesis : utterance.nbest) tokens.Complete(&hypothesis);
    }
    return resumed;
  } catch (const std::exception& error) {
    return Refused(ErrorCode::kSnapshotInvalid, FirstLine(error.what()));
  }
}

}  // namespace

void ResumeStream(const Services& services, const std::string& account,
                  const ResumeRequest& request, const std::shared_ptr<SessionSnapshots>& snapshots,
                  const std::shared_ptr<SessionMailbox>& mailbox) {
  const auto task = [&services, account, request, snapshots, mailbox] {
    if (mailbox->is_closed()) return;  // the client has gone
    mailbox->PutResumed(Restore(services, account, request, snapshots, mailbox));
  };
  if (!services.store_threads->RunFirst(task, account)) {
    mailbox->PutResumed(Refused(ErrorCode::kFull, "too many streams wait for their snapshots"));
  }
}

}  // namespace runnel::server
