#include "tools/server/session/live_session.h"

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <variant>

#include "runtime/model.h"
#include "runtime/text/first_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/seconds.h"
#include "tools/server/dialects/protocol_registry.h"
#include "tools/server/resources/admission.h"
#include "tools/server/resources/rated_log.h"

namespace runnel::server {
namespace {

constexpr int kNormalClose = 1000;
// Audio that has no room in the budget is offered again.
constexpr std::chrono::milliseconds kBudgetInterval{200};
constexpr std::array<Pause, kNumPauses> kAllPauses = {Pause::kBuffer, Pause::kSpeed,
                                                      Pause::kSendQueue};

bool HasMore(const std::vector<ClientRequest>& requests) {
  return !requests.empty() && std::holds_alternative<MoreRequest>(requests.back());
}

}  // namespace

LiveSession::LiveSession(const Services& services, Client client,
                         std::shared_ptr<Protocol> protocol, std::function<void()> wake)
    : services_(services),
      client_(std::move(client)),
      mailbox_(std::make_shared<SessionMailbox>(std::move(wake))),
      protocol_(std::move(protocol)),
      deadlines_(services.limits, Clock::now()),
      last_progress_(Clock::now()),
      pacer_(services.limits.max_speed, services.limits.max_buffered_s),
      pauses_(services.metrics),
      latency_(services.metrics) {
  if (protocol_ == nullptr) return;
  for (ClientRequest& request : protocol_->Open()) requests_.push_back(std::move(request));
}

LiveSession::~LiveSession() { Disconnect(); }

size_t LiveSession::max_message_bytes() const {
  const auto limit = static_cast<size_t>(services_.limits.max_message_bytes);
  return protocol_ == nullptr ? limit : protocol_->MaxMessageBytes(limit);
}

void LiveSession::OnSlot() {
  deadlines_.OnSlot(Clock::now());
  AllowSilence();
}

void LiveSession::AllowSilence() {
  if (protocol_ != nullptr && protocol_->may_be_silent()) deadlines_.ClearStart();
}

void LiveSession::Receive(const ClientMessage& message) {
  if (state_ == State::kEnded) return;
  const bool waits = task_ != Task::kNone || reading_ != nullptr;
  if (waits || TakesLong(protocol_.get(), message)) {
    return Receive({message.is_text, CopyOf(message.bytes)});
  }
  deadlines_.OnMessage(Clock::now());
  Guard([&] {
    std::vector<ClientRequest> requests;
    if (protocol_ == nullptr) {
      protocol_ = ReadFirstMessage(message, services_.recognizer->model()->tokens(), &requests);
      AllowSilence();
    } else {
      requests = protocol_->Read(message);
    }
    if (HasMore(requests)) {
      reading_ = MessageReading::OfRest(protocol_, {message.is_text, CopyOf(message.bytes)});
    }
    OnRead(std::move(requests));
    HandleRequests();
    ObservePauses();
  });
}

void LiveSession::Receive(ReceivedMessage message) {
  if (state_ == State::kEnded || task_ == Task::kFinalResult) return;
  if (task_ != Task::kNone || reading_ != nullptr) return unread_.push_back(std::move(message));
  deadlines_.OnMessage(Clock::now());
  Guard([&] {
    reading_ = std::make_shared<MessageReading>(protocol_, std::move(message));
    ReadPart();
    HandleRequests();
    ObservePauses();
  });
}

MessageBuffer LiveSession::CopyOf(std::string_view bytes) const {
  return {services_.input_budget, client_.account, bytes};
}

void LiveSession::ReadPart() {
  const auto next = [this, reading = reading_,
                     &tokens = services_.recognizer->model()->tokens()]() -> Then {
    return [this, reading, requests = reading->Next(tokens)]() mutable {
      protocol_ = reading->protocol();
      AllowSilence();
      OnRead(std::move(requests));
    };
  };
  if (!reading_->takes_long()) return next()();
  if (protocol_ == nullptr || !protocol_->uses_process()) return StartTask(Task::kOrdinary, next);
  if (media_place_ == nullptr) {
    Refusal refusal = Refusal::kNone;
    media_place_ = services_.admission->AdmitMediaStream(client_.account, &refusal);
    if (media_place_ == nullptr) return Handle(RefusalError(refusal, services_.metrics));
  }
  // A task may outlive the session: the process and its place are given back together.
  StartTask(
      Task::kOrdinary, [next, place = media_place_] { return next(); }, services_.media_threads);
}

// `requests`: of a part of the message that is being read, or of a whole one.
void LiveSession::OnRead(std::vector<ClientRequest> requests) {
  if (HasMore(requests)) {
    reading_->Consume(std::get<MoreRequest>(requests.back()).num_read);
  } else {
    reading_.reset();
  }
  requests_.insert(requests_.end(), std::make_move_iterator(requests.begin()),
                   std::make_move_iterator(requests.end()));
}

void LiveSession::ReceiveUnread() {
  while (is_open() && reading_ == nullptr && !unread_.empty()) {
    ReceivedMessage message = std::move(unread_.front());
    unread_.pop_front();
    Receive(std::move(message));
  }
}

void LiveSession::OnPing() {
  if (protocol_ != nullptr && protocol_->may_be_silent()) deadlines_.OnMessage(Clock::now());
}

bool LiveSession::EndInput() {
  // A stream that can be resumed may go on.
  if (is_open() && has_flushed_ && snapshots_ == nullptr)
    Guard([this] { Handle(FinishRequest{}); });
  return state_ == State::kFinishing || state_ == State::kEnded;
}

void LiveSession::Advance() {
  mailbox_->Open();
  if (state_ == State::kEnded) return;
  Guard([&] {
    if (auto done = mailbox_->TakeDone()) OnDone(*done);
    if (!is_open()) return;
    if (auto resumed = mailbox_->TakeResumed()) OnResumed(std::move(*resumed));
    mailbox_->TakeRoom();
    if (feed_ != nullptr) CheckRoom(feed_->OnRoom());
    HandleRequests();
    ReceiveUnread();
    if (auto snapshot = mailbox_->TakeSnapshot()) snapshot_ = std::move(*snapshot);
    // A resumed stream may take a snapshot before the client was told that it is resumed.
    if (snapshot_.has_value() && state_ != State::kResuming) EnqueueSnapshot();
    if (!is_open()) return;
    if (mailbox_->TakeDrained()) FailDraining();
    CheckDeadlines();
    ObservePauses();
  });
}

bool LiveSession::CanReceive() const {
  return is_open() && requests_.empty() && unread_.empty() && !IsPaused();
}

LiveSession::Clock::time_point LiveSession::NextDeadline() const {
  if (!is_open()) return Clock::time_point::max();
  const Clock::time_point deadline = deadlines_.Next(IsIdleSuspended());
  const Clock::time_point now = Clock::now();
  if (feed_ != nullptr && feed_->is_over_budget()) return std::min(deadline, now + kBudgetInterval);
  const Clock::time_point next_audio = pacer_.NextAudioAt();
  return next_audio > now ? std::min(deadline, next_audio) : deadline;
}

std::optional<OutgoingMessage> LiveSession::TakeMessage() {
  if (outgoing_.empty() && is_open() && feed_ != nullptr) Guard([this] { EnqueueUpdate(); });
  return outgoing_.Take();
}

void LiveSession::OnSent(const OutgoingMessage& message) {
  if (message.is_snapshot && snapshots_ != nullptr) snapshots_->OnSent();
  if (message.result.has_value()) latency_.OnSent(*message.result, Clock::now());
}

std::optional<Closing> LiveSession::closing() const {
  if (state_ != State::kEnded || !outgoing_.empty()) return std::nullopt;
  return closing_;
}

void LiveSession::Fail(ErrorCode code, const std::string& message) {
  Guard([&] { Handle(ProtocolError{code, message}); });
}

void LiveSession::Drain() {
  if (state_ == State::kEnded || task_ == Task::kFinalResult) return;
  if (snapshots_ == nullptr || feed_ == nullptr) return FailDraining();
  deadlines_.SetDrain(Clock::now() + Seconds(services_.drain_patience_s));
  snapshots_->Drain(feed_->stream());
}

void LiveSession::Disconnect() {
  if (state_ != State::kEnded) End({kNormalClose, ""});
  outgoing_.Clear();
  protocol_.reset();  // with it ends the process of media_place_
  media_place_.reset();
}

void LiveSession::Handle(const ProtocolError& error) {
  if (is_open() && feed_ != nullptr) EnqueueUpdate();
  if (task_ != Task::kNone && !unhandled_error_.has_value()) unhandled_error_ = error;
  if (!is_open()) return;  // that was the final result, or it is being written
  LogRated(LogLevel::kInfo, std::string("stream ended with ") + CodeName(error.code),
           client_.id + ": " + error.message);
  EndWith(error);
}

void LiveSession::EnqueueSnapshot() {
  if (!is_open()) return;
  EnqueueUpdate();  // results before the snapshot that contains them
  if (!is_open()) return;
  for (std::string& text : protocol_->OnSnapshot(snapshot_->token, snapshot_->num_samples)) {
    outgoing_.Push({std::move(text), std::nullopt, /*is_snapshot=*/true});
  }
  snapshot_.reset();
}

void LiveSession::CheckDeadlines() {
  if (!is_open()) return;
  const Limits& limits = services_.limits;
  switch (deadlines_.Check(IsIdleSuspended(), Clock::now())) {
    case Deadline::kNone:
      return;
    case Deadline::kStream:
      services_.metrics->CountRejection(Rejection::kTimeLimit);
      return Fail(ErrorCode::kTimeLimit,
                  "the connection lasts longer than " + Decimal(limits.max_stream_s, 1) + " s");
    case Deadline::kDrain:
      return FailDraining();
    case Deadline::kResume:
      return Fail(ErrorCode::kStoreUnavailable, "the store of snapshots does not answer within " +
                                                    Decimal(services_.resume_patience_s, 1) + " s");
    case Deadline::kStart:
      services_.metrics->CountRejection(Rejection::kIdle);
      return Fail(ErrorCode::kIdleTimeout,
                  "no stream was started for " + Decimal(limits.start_timeout_s, 1) + " s");
    case Deadline::kSilence:
      services_.metrics->CountRejection(Rejection::kIdle);
      return Fail(ErrorCode::kIdleTimeout,
                  "no audio for " + Decimal(limits.silence_timeout_s, 1) + " s");
    case Deadline::kIdle:
      services_.metrics->CountRejection(Rejection::kIdle);
      return Fail(ErrorCode::kIdleTimeout,
                  "no message for " + Decimal(limits.idle_timeout_s, 1) + " s");
  }
}

bool LiveSession::IsPaused() const {
  return std::any_of(kAllPauses.begin(), kAllPauses.end(),
                     [this](Pause reason) { return IsPausedBy(reason); });
}

bool LiveSession::IsPausedBy(Pause reason) const {
  switch (reason) {
    case Pause::kBuffer:
      return feed_ != nullptr && feed_->is_holding();
    case Pause::kSpeed:
      return pacer_.NextAudioAt() > Clock::now();
    case Pause::kSendQueue:
      return outgoing_.num_bytes() + mailbox_->update_bytes() >
             services_.limits.max_send_queue_bytes();
    case Pause::kInput:        // before a message is whole
    case Pause::kConnections:  // before it is served
      return false;
  }
  return false;
}

// The client may be silent: nothing is read from it, or it waits for the server.
bool LiveSession::IsIdleSuspended() const {
  return state_ == State::kResuming || state_ == State::kFinishing || !CanReceive();
}

void LiveSession::OnProgress(Clock::time_point now) {
  last_progress_ = now;
  deadlines_.OnProgress(now);
}

void LiveSession::ObservePauses() {
  for (const Pause reason : kAllPauses) {
    pauses_.Observe(reason, state_ != State::kEnded && IsPausedBy(reason));
  }
  // A client that waited has its whole time for the next audio. One that sends none gains nothing
  // by waiting.
  const bool waits = IsPausedBy(Pause::kBuffer) || IsPausedBy(Pause::kSpeed);
  if (std::exchange(audio_waits_, waits) && !waits && std::exchange(has_audio_, false)) {
    OnProgress(Clock::now());
  }
}

void LiveSession::Enqueue(std::vector<std::string> texts) {
  for (std::string& text : texts) {
    outgoing_.Push({std::move(text), std::nullopt, /*is_snapshot=*/false});
  }
}

// `result` describes the last of the texts.
void LiveSession::EnqueueResult(std::vector<std::string> texts, ResultInfo result) {
  if (texts.empty()) return;
  std::string last = std::move(texts.back());
  texts.pop_back();
  Enqueue(std::move(texts));
  outgoing_.Push({std::move(last), result, /*is_snapshot=*/false});
}

// Writes the messages of the updates since the last call. A final update ends the session.
void LiveSession::EnqueueUpdate() {
  std::optional<SessionMailbox::Update> taken = mailbox_->TakeUpdate();
  if (!taken.has_value()) return;
  LiveUpdate& update = taken->update;
  UpdateInfo info;
  info.result.chunk_accepted = taken->chunk_accepted;
  info.result.has_text = update.stable_size_before > 0 || !update.stable_text.empty() ||
                         !update.tentative_text.empty() || !update.utterances.empty();
  info.result.is_final = update.is_final;
  info.error = update.error;
  if (!IsLong(update)) return EndUpdate(protocol_->OnUpdate(update), info);
  StartTask(info.result.is_final ? Task::kFinalResult : Task::kOrdinary,
            [this, info, protocol = protocol_,
             shared = std::make_shared<LiveUpdate>(std::move(update))]() -> Then {
              return [this, info, texts = protocol->OnUpdate(*shared)]() mutable {
                EndUpdate(std::move(texts), info);
              };
            });
}

// Of a resumed stream, that its client may not have received.
void LiveSession::EnqueueUtterances(std::vector<Utterance> utterances) {
  if (utterances.empty()) return;
  if (!AreLong(utterances)) return Enqueue(protocol_->OnUtterances(utterances));
  StartTask(Task::kOrdinary,
            [this, protocol = protocol_, utterances = std::move(utterances)]() -> Then {
              return [this, texts = protocol->OnUtterances(utterances)]() mutable {
                Enqueue(std::move(texts));
              };
            });
}

void LiveSession::StartTask(Task task, std::function<Then()> work) {
  StartTask(task, std::move(work), services_.file_threads);
}

void LiveSession::StartTask(Task task, std::function<Then()> work, TaskThreads* threads) {
  task_ = task;
  RunSessionTask(threads, client_.account, std::move(work), mailbox_);
}

void LiveSession::OnDone(const SessionMailbox::Done& done) {
  task_ = Task::kNone;
  if (!done.error.empty()) throw std::runtime_error("a task: " + done.error);
  done.then();
  if (is_open() && unhandled_error_.has_value()) Handle(*unhandled_error_);
}

// `texts` are the messages of an update, all of which has been written.
void LiveSession::EndUpdate(std::vector<std::string> texts, const UpdateInfo& info) {
  EnqueueResult(std::move(texts), info.result);
  if (!info.result.is_final) return;
  if (info.error.empty()) return CloseNormally();
  LogRated(LogLevel::kWarning, "stream failed", client_.id + ": " + info.error);
  services_.metrics->CountError(ErrorCode::kStreamFailed);
  End(protocol_->CloseAfter({ErrorCode::kStreamFailed, info.error}));
}

// After the final result, or because the client wants nothing more: nobody resumes the stream.
void LiveSession::CloseNormally() {
  if (snapshots_ != nullptr) snapshots_->Forget();
  End({kNormalClose, ""});
}

void LiveSession::EndWith(const ProtocolError& error) {
  services_.metrics->CountError(error.code);
  End(protocol_ == nullptr ? Closing{CloseCode(error.code), ""} : protocol_->CloseAfter(error));
  if (task_ != Task::kNone) return;  // the protocol is in use
  Enqueue(protocol_ == nullptr ? std::vector<std::string>{ErrorText(error)}
                               : protocol_->OnError(error));
}

void LiveSession::End(Closing closing) {
  state_ = State::kEnded;
  closing_ = std::move(closing);
  requests_.clear();
  reading_.reset();
  unread_.clear();
  mailbox_->Close();
  if (feed_ != nullptr) feed_->stream()->Cancel();
  feed_.reset();
}

void LiveSession::FailDraining() { Fail(ErrorCode::kDraining, "the server is shutting down"); }

// An exception in `work` ends this session, and no other.
void LiveSession::Guard(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    LogRated(LogLevel::kError, "session failed", client_.id + ": " + error.what());
    if (state_ != State::kEnded) EndWith({ErrorCode::kInternal, "an error of the server"});
  }
}

}  // namespace runnel::server
