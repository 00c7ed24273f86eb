#include "tools/server/session/live_session.h"

#include <glog/logging.h>

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
#include "tools/server/protocol/message_text.h"
#include "tools/server/session/long_messages.h"
#include "tools/server/session/resume.h"
#include "tools/server/session/stream_request.h"

namespace runnel::server {
namespace {

using Clock = LiveSession::Clock;

constexpr int kNormalClose = 1000;
constexpr std::array<Pause, kNumPauses> kAllPauses = {Pause::kBuffer, Pause::kSpeed,
                                                      Pause::kSendQueue};

}  // namespace

LiveSession::LiveSession(const Services& services, std::string id,
                         std::shared_ptr<Protocol> protocol, std::function<void()> wake)
    : services_(services),
      id_(std::move(id)),
      mailbox_(std::make_shared<SessionMailbox>(std::move(wake))),
      protocol_(std::move(protocol)),
      deadlines_(services.limits, Clock::now()),
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

void LiveSession::Receive(const ClientMessage& message) {
  if (state_ == State::kEnded) return;
  if (writing_.has_value()) {
    if (!writing_->result.is_final) unread_.emplace_back(message.is_text, message.bytes);
    return;
  }
  deadlines_.OnMessage(Clock::now());
  Guard([&] {
    if (protocol_ == nullptr) {
      ProtocolError error;
      protocol_ = ChooseProtocol(message, services_.recognizer->model()->tokens(), &error);
      if (protocol_ == nullptr) return Handle(error);
    }
    for (ClientRequest& request : protocol_->Read(message)) requests_.push_back(std::move(request));
    HandleRequests();
    CountPauses();
  });
}

void LiveSession::OnPing() {
  if (protocol_ != nullptr && protocol_->may_be_silent()) deadlines_.OnMessage(Clock::now());
}

void LiveSession::Advance() {
  mailbox_->Open();
  if (state_ == State::kEnded) return;
  Guard([&] {
    if (auto written = mailbox_->TakeWritten()) OnWritten(std::move(*written));
    if (!is_open()) return;
    if (auto resumed = mailbox_->TakeResumed()) OnResumed(std::move(*resumed));
    if (mailbox_->TakeRoom() && feed_ != nullptr) CheckRoom(feed_->OnRoom());
    HandleRequests();
    if (auto snapshot = mailbox_->TakeSnapshot()) snapshot_ = std::move(*snapshot);
    // A resumed stream may take a snapshot before the client was told that it is resumed.
    if (snapshot_.has_value() && state_ != State::kResuming) EnqueueSnapshot();
    if (!is_open()) return;
    if (mailbox_->TakeDrained()) FailDraining();
    CheckDeadlines();
    CountPauses();
  });
}

bool LiveSession::CanReceive() const {
  return is_open() && requests_.empty() &&
         std::none_of(kAllPauses.begin(), kAllPauses.end(),
                      [this](Pause reason) { return IsPausedBy(reason); });
}

Clock::time_point LiveSession::NextDeadline() const {
  if (!is_open()) return Clock::time_point::max();
  const Clock::time_point deadline = deadlines_.Next(IsIdleSuspended());
  const Clock::time_point next_audio = pacer_.NextAudioAt();
  return next_audio > Clock::now() ? std::min(deadline, next_audio) : deadline;
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
  if (state_ == State::kEnded || (writing_.has_value() && writing_->result.is_final)) return;
  if (snapshots_ == nullptr || feed_ == nullptr) return FailDraining();
  deadlines_.SetDrain(Clock::now() + Seconds(services_.drain_patience_s));
  snapshots_->Drain(feed_->stream());
}

void LiveSession::Disconnect() {
  if (state_ != State::kEnded) End({kNormalClose, ""});
  outgoing_.Clear();
}

void LiveSession::HandleRequests() {
  while (is_open() && !requests_.empty() && CanHandle(requests_.front())) {
    ClientRequest request = std::move(requests_.front());
    requests_.pop_front();
    std::visit([this](auto& one) { Handle(std::move(one)); }, request);
  }
}

bool LiveSession::CanHandle(const ClientRequest& request) const {
  // The owner goes on reading during a resume, and so notices a client that vanishes.
  if (state_ == State::kResuming) return std::holds_alternative<ImmediateReply>(request);
  // The limits that keep the owner from reading a message hold for each part of one.
  if (std::holds_alternative<MoreRequest>(request)) {
    return std::none_of(kAllPauses.begin(), kAllPauses.end(),
                        [this](Pause reason) { return IsPausedBy(reason); });
  }
  return feed_ == nullptr || !feed_->is_holding();
}

void LiveSession::Handle(const StartRequest& request) {
  if (request.wants_snapshots && services_.snapshot_store != nullptr) {
    snapshots_ = std::make_shared<SessionSnapshots>(services_, mailbox_);
  }
  std::shared_ptr<LiveStream> stream;
  try {
    stream = services_.recognizer->Open(
        CompleteOptions(request, services_.default_options, services_.limits,
                        services_.recognizer->model()->languages()),
        MakeUpdateCallback(services_.metrics, snapshots_, mailbox_));
  } catch (const std::invalid_argument& error) {
    return Fail(ErrorCode::kBadOption, FirstLine(error.what()));
  }
  StartStreaming(std::move(stream), /*num_samples=*/-1, /*first_utterance=*/0);
}

void LiveSession::Handle(const ResumeRequest& request) {
  if (services_.snapshot_store == nullptr) {
    return Fail(ErrorCode::kSnapshotUnknown, "this server keeps no snapshots");
  }
  try {
    CheckNBest(request.nbest, services_.limits);
  } catch (const std::invalid_argument& error) {
    return Fail(ErrorCode::kBadOption, FirstLine(error.what()));
  }
  state_ = State::kResuming;
  deadlines_.SetResume(Clock::now() + Seconds(services_.resume_patience_s));
  snapshots_ = std::make_shared<SessionSnapshots>(services_, mailbox_);
  ResumeStream(services_, request, snapshots_, mailbox_);
}

void LiveSession::OnResumed(SessionMailbox::Resumed resumed) {
  deadlines_.ClearResume();
  deadlines_.OnMessage(Clock::now());
  if (resumed.stream == nullptr) return Handle(resumed.error);
  services_.metrics->CountSnapshot(SnapshotResult::kResumed);
  const int64_t num_samples = resumed.stream->num_samples();
  StartStreaming(std::move(resumed.stream), num_samples, resumed.first_utterance);
  EnqueueUtterances(std::move(resumed.utterances));
}

void LiveSession::StartStreaming(std::shared_ptr<LiveStream> stream, int64_t num_samples,
                                 int64_t first_utterance) {
  state_ = State::kStreaming;
  feed_ = std::make_unique<StreamFeed>(std::move(stream), mailbox_);
  const Model& model = *services_.recognizer->model();
  services_.metrics->CountStream(protocol_->name());
  SessionInfo info;
  info.session_id = id_;
  info.model_name = model.name();
  info.options = feed_->stream()->options();
  info.encoder_frame_ms = model.encoder_frame_ms();
  info.num_samples = num_samples;
  info.first_utterance = first_utterance;
  info.keeps_snapshots = snapshots_ != nullptr;
  Enqueue(protocol_->OnReady(info));
}

void LiveSession::Handle(AudioRequest&& request) {
  if (state_ != State::kStreaming || request.samples.empty()) return;
  const LiveStream& stream = *feed_->stream();
  const int sample_rate_hz = stream.options().sample_rate_hz;
  const Clock::time_point now = Clock::now();
  latency_.OnAudio(now);
  pacer_.OnAudio(request.samples.size(), sample_rate_hz, now);
  const double max_audio_s = services_.limits.max_audio_s;
  const auto num_samples =
      static_cast<double>(stream.num_samples()) + static_cast<double>(request.samples.size());
  if (max_audio_s > 0 && num_samples > max_audio_s * sample_rate_hz) {
    services_.metrics->CountRejection(Rejection::kAudioLimit);
    return Fail(ErrorCode::kAudioLimit,
                "the stream has more than " + Decimal(max_audio_s, 1) + " s of audio");
  }
  CheckRoom(feed_->Accept(std::move(request.samples)));
}

void LiveSession::CheckRoom(bool will_fit) {
  if (!will_fit) Fail(ErrorCode::kBadOption, UtteranceTooLong(services_.limits));
}

void LiveSession::Handle(const FlushRequest& /*request*/) {
  if (state_ != State::kStreaming) return;
  LiveStream& stream = *feed_->stream();
  const StreamOptions& options = stream.options();
  if (options.chunk_size == StreamOptions::kWholeUtterance) {
    return Fail(ErrorCode::kBadOption, "flush: the stream decodes its whole audio at once");
  }
  // It costs a chunk, and counts as one.
  const double chunk_ms =
      static_cast<double>(options.chunk_size) * services_.recognizer->model()->encoder_frame_ms();
  pacer_.OnAudio(static_cast<size_t>(chunk_ms * options.sample_rate_hz / 1000),
                 options.sample_rate_hz, Clock::now());
  stream.FinalizeUtterance();
}

void LiveSession::Handle(const FinishRequest& /*request*/) {
  if (state_ != State::kStreaming) return;
  state_ = State::kFinishing;
  latency_.OnFinish(Clock::now());
  feed_->stream()->Finish();
}

void LiveSession::Handle(const CancelRequest& /*request*/) { CloseNormally(); }

void LiveSession::Handle(const MoreRequest& /*request*/) {
  std::vector<ClientRequest> more = protocol_->ReadMore();
  requests_.insert(requests_.begin(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
}

void LiveSession::Handle(ImmediateReply&& reply) {
  outgoing_.Push({std::move(reply.text), std::nullopt, /*is_snapshot=*/false});
}

void LiveSession::Handle(const ProtocolError& error) {
  if (is_open() && feed_ != nullptr) EnqueueUpdate();
  if (writing_.has_value() && !unhandled_error_.has_value()) unhandled_error_ = error;
  if (!is_open()) return;  // that was the final result, or it is being written
  LOG(INFO) << "stream " << id_ << ": " << CodeName(error.code) << ": "
            << ValidText(FirstLine(error.message));
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
    case Deadline::kIdle:
      services_.metrics->CountRejection(Rejection::kIdle);
      return Fail(ErrorCode::kIdleTimeout,
                  "no message for " + Decimal(limits.idle_timeout_s, 1) + " s");
  }
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
  }
  return false;
}

// The client may be silent: nothing is read from it, or it waits for the server.
bool LiveSession::IsIdleSuspended() const {
  return state_ == State::kResuming || state_ == State::kFinishing || !CanReceive();
}

void LiveSession::CountPauses() {
  for (const Pause reason : kAllPauses) {
    pauses_.Observe(reason, state_ != State::kEnded && IsPausedBy(reason));
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
  Writing writing;
  writing.result.chunk_accepted = taken->chunk_accepted;
  writing.result.has_text = update.stable_size_before > 0 || !update.stable_text.empty() ||
                            !update.tentative_text.empty() || !update.utterances.empty();
  writing.result.is_final = update.is_final;
  writing.error = update.error;
  if (!IsLong(update)) return EndUpdate(protocol_->OnUpdate(update), writing);
  StartWriting(std::move(writing),
               [protocol = protocol_, shared = std::make_shared<LiveUpdate>(std::move(update))] {
                 return protocol->OnUpdate(*shared);
               });
}

// Of a resumed stream, that its client may not have received.
void LiveSession::EnqueueUtterances(std::vector<Utterance> utterances) {
  if (utterances.empty()) return;
  if (!AreLong(utterances)) return Enqueue(protocol_->OnUtterances(utterances));
  StartWriting({}, [protocol = protocol_, utterances = std::move(utterances)] {
    return protocol->OnUtterances(utterances);
  });
}

void LiveSession::StartWriting(Writing writing, std::function<std::vector<std::string>()> write) {
  writing_ = std::move(writing);
  WriteLongMessages(services_.file_threads, std::move(write), mailbox_);
}

void LiveSession::OnWritten(SessionMailbox::Written written) {
  const Writing writing = *std::exchange(writing_, std::nullopt);
  if (!written.error.empty()) throw std::runtime_error("a long result: " + written.error);
  EndUpdate(std::move(written.texts), writing);
  if (is_open() && unhandled_error_.has_value()) Handle(*unhandled_error_);
  while (is_open() && !unread_.empty()) {
    const auto [is_text, bytes] = std::move(unread_.front());
    unread_.pop_front();
    Receive({is_text, bytes});
  }
}

// `texts` are the messages of an update, all of which has been written.
void LiveSession::EndUpdate(std::vector<std::string> texts, const Writing& writing) {
  EnqueueResult(std::move(texts), writing.result);
  if (!writing.result.is_final) return;
  if (writing.error.empty()) return CloseNormally();
  LOG(WARNING) << "stream " << id_ << ": " << ValidText(FirstLine(writing.error));
  services_.metrics->CountError(ErrorCode::kStreamFailed);
  End(protocol_->CloseAfter({ErrorCode::kStreamFailed, writing.error}));
}

// After the final result, or because the client wants nothing more: nobody resumes the stream.
void LiveSession::CloseNormally() {
  if (snapshots_ != nullptr) snapshots_->Forget();
  End({kNormalClose, ""});
}

void LiveSession::EndWith(const ProtocolError& error) {
  services_.metrics->CountError(error.code);
  End(protocol_ == nullptr ? Closing{CloseCode(error.code), ""} : protocol_->CloseAfter(error));
  if (writing_.has_value()) return;  // the protocol is in use
  Enqueue(protocol_ == nullptr ? std::vector<std::string>{ErrorText(error)}
                               : protocol_->OnError(error));
}

void LiveSession::End(Closing closing) {
  state_ = State::kEnded;
  closing_ = std::move(closing);
  requests_.clear();
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
    LOG(ERROR) << "stream " << id_ << ": " << FirstLine(error.what());
    if (state_ != State::kEnded) EndWith({ErrorCode::kInternal, "an error of the server"});
  }
}

}  // namespace runnel::server
