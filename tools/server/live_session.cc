#include "tools/server/live_session.h"

#include <glog/logging.h>

#include <exception>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "encoder/first_line.h"
#include "runtime/model.h"
#include "tools/decimal.h"
#include "tools/seconds.h"
#include "tools/server/long_result.h"
#include "tools/server/message_text.h"
#include "tools/server/stream_request.h"

namespace runnel::server {
namespace {

using Clock = LiveSession::Clock;

constexpr int kNormalClose = 1000;

}  // namespace

LiveSession::LiveSession(const Services& services, std::string id, std::function<void()> wake)
    : services_(services),
      id_(std::move(id)),
      mailbox_(std::make_shared<SessionMailbox>(std::move(wake))),
      start_(Clock::now()),
      last_message_(start_) {}

LiveSession::~LiveSession() { Disconnect(); }

void LiveSession::Receive(const ClientMessage& message) {
  if (close_code_.has_value() || finishing_.has_value()) return;
  last_message_ = Clock::now();
  Guard([&] {
    if (protocol_ == nullptr) {
      ProtocolError error;
      protocol_ = ChooseProtocol(message, services_.recognizer->model()->tokens(), &error);
      if (protocol_ == nullptr) return Handle(error);
    }
    for (ClientRequest& request : protocol_->Read(message)) waiting_.push_back(std::move(request));
    HandleWaiting();
    CountPauses();
  });
}

void LiveSession::Advance() {
  mailbox_->Open();
  if (close_code_.has_value()) return;
  Guard([&] {
    if (auto texts = mailbox_->TakeFinal()) return OnFinalTexts(std::move(*texts));
    if (finishing_.has_value()) return;
    if (auto restored = mailbox_->TakeRestored()) OnResumed(std::move(*restored));
    if (mailbox_->TakeRoom()) {
      waits_for_room_ = false;
      OfferHeldSamples();
    }
    HandleWaiting();
    // Of a stream that comes back, the next call says: "resumed" is first.
    if (auto snapshot = is_resuming_ ? std::nullopt : mailbox_->TakeSnapshot()) {
      SayUpdate();  // in the order of the audio
      if (close_code_.has_value() || finishing_.has_value()) return;
      Say(protocol_->OnSnapshot(snapshot->token, snapshot->num_samples), /*is_snapshot=*/true);
    }
    if (mailbox_->TakeDrained()) FailDraining();
    CheckTime();
    CountPauses();
  });
}

void LiveSession::HandleWaiting() {
  while (!waiting_.empty() && !close_code_.has_value() && CanHandle(waiting_.front())) {
    const ClientRequest request = std::move(waiting_.front());
    waiting_.pop_front();
    Handle(request);
  }
}

// Replies need no stream.
bool LiveSession::CanHandle(const ClientRequest& request) const {
  return held_.empty() && (!is_resuming_ || std::holds_alternative<ImmediateReply>(request));
}

// Also during a resume, so that a client that vanishes is noticed.
bool LiveSession::CanReceive() const { return !close_code_.has_value() && !IsPaused(); }

void LiveSession::Handle(const ClientRequest& request) {
  std::visit([this](const auto& one) { Handle(one); }, request);
}

void LiveSession::Handle(const StartRequest& request) {
  if (request.wants_snapshots && services_.snapshot_store != nullptr) {
    snapshots_ = std::make_shared<SessionSnapshots>(services_, mailbox_);
    snapshots_->set_nbest(request.nbest);
  }
  try {
    stream_ = services_.recognizer->Open(
        CompleteOptions(request, services_.default_options, services_.limits),
        MakeUpdateCallback(snapshots_, mailbox_), request.nbest);
  } catch (const std::invalid_argument& error) {
    return Fail(ErrorCode::kBadOption, FirstLine(error.what()));
  }
  OnOpened(/*num_samples=*/-1);
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
  is_resuming_ = true;
  resume_deadline_ = Clock::now() + Seconds(services_.resume_patience_s);
  snapshots_ = std::make_shared<SessionSnapshots>(services_, mailbox_);
  ResumeStream(services_, request, snapshots_, mailbox_);
}

void LiveSession::OnResumed(SessionMailbox::Restored restored) {
  is_resuming_ = false;
  last_message_ = Clock::now();
  if (restored.stream == nullptr) return Handle(restored.error);
  stream_ = std::move(restored.stream);
  services_.metrics->CountSnapshot(SnapshotResult::kResumed);
  OnOpened(stream_->num_samples());
}

void LiveSession::OnOpened(int64_t num_samples) {
  const Model& model = *services_.recognizer->model();
  services_.metrics->CountStream(protocol_->name());
  SessionInfo info;
  info.session_id = id_;
  info.model_name = model.config().name;
  info.options = stream_->options();
  info.encoder_frame_ms = model.encoder_frame_ms();
  info.num_samples = num_samples;
  info.keeps_snapshots = snapshots_ != nullptr;
  Say(protocol_->OnReady(info));
}

void LiveSession::Handle(const AudioRequest& request) {
  if (stream_ == nullptr || request.samples.empty()) return;
  if (!first_audio_.has_value()) first_audio_ = Clock::now();
  num_received_ += static_cast<int64_t>(request.samples.size());
  const double max_audio_s = services_.limits.max_audio_s;
  const auto num_samples =
      static_cast<double>(stream_->num_samples()) + static_cast<double>(request.samples.size());
  if (max_audio_s > 0 && num_samples > max_audio_s * stream_->options().sample_rate_hz) {
    services_.metrics->CountRejection(Rejection::kAudioLimit);
    return Fail(ErrorCode::kAudioLimit,
                "the stream has more than " + Decimal(max_audio_s, 1) + " s of audio");
  }
  const size_t taken = stream_->AcceptSamples(request.samples.data(), request.samples.size());
  if (taken == request.samples.size() || stream_->is_over()) return;
  held_.assign(request.samples.begin() + static_cast<std::ptrdiff_t>(taken), request.samples.end());
  held_begin_ = 0;
  OfferHeldSamples();
}

void LiveSession::OfferHeldSamples() {
  if (held_.empty() || waits_for_room_) return;
  held_begin_ += stream_->AcceptSamples(held_.data() + held_begin_, held_.size() - held_begin_);
  if (held_begin_ == held_.size() || stream_->is_over()) {
    held_.clear();
    held_.shrink_to_fit();
    return;
  }
  if (stream_->options().chunk_size == StreamOptions::kWholeUtterance) {
    return Fail(ErrorCode::kBadOption, UtteranceTooLong(services_.limits));
  }
  waits_for_room_ = true;
  stream_->NotifyRoom([mailbox = mailbox_] { mailbox->PutRoom(); });
}

void LiveSession::Handle(const FinishRequest& /*request*/) {
  finish_ = Clock::now();
  if (stream_ != nullptr) stream_->Finish();
}

void LiveSession::Handle(const CancelRequest& /*request*/) {
  if (snapshots_ != nullptr) snapshots_->Forget();
  End(kNormalClose);
}

void LiveSession::Handle(const ImmediateReply& reply) { Say({reply.text}); }

void LiveSession::Say(std::vector<std::string> texts, bool is_snapshot) {
  for (std::string& text : texts) {
    outgoing_bytes_ += text.size();
    outgoing_.push_back({std::move(text), std::nullopt, false, false, is_snapshot});
  }
}

// Formats what became known since the last time; the end of the conversation when it is the final
// result.
void LiveSession::SayUpdate() {
  if (finishing_.has_value()) return;
  std::optional<SessionMailbox::Update> news = mailbox_->TakeUpdate();
  if (!news.has_value()) return;
  LiveUpdate& update = news->update;
  OutgoingMessage about;
  about.chunk_accepted = news->chunk_accepted;
  about.has_text = update.stable_size_before > 0 || !update.stable_text.empty() ||
                   !update.tentative_text.empty();
  about.is_final = update.is_final;
  if (IsLongResult(update)) {
    finishing_ = std::move(about);
    return MakeFinalTexts(services_.file_threads, protocol_, std::move(update), mailbox_);
  }
  SayResult(protocol_->OnUpdate(update), std::move(about));
  if (!update.is_final) return;
  if (update.error.empty()) return EndWell();
  LOG(WARNING) << "stream " << id_ << ": failed";
  services_.metrics->CountError(ErrorCode::kStreamFailed);
  End(CloseCode(ErrorCode::kStreamFailed));
}

// `about` is the last one of the texts.
void LiveSession::SayResult(std::vector<std::string> texts, OutgoingMessage about) {
  if (texts.empty()) return;
  about.text = std::move(texts.back());
  texts.pop_back();
  Say(std::move(texts));
  outgoing_bytes_ += about.text.size();
  outgoing_.push_back(std::move(about));
}

void LiveSession::OnFinalTexts(std::vector<std::string> texts) {
  OutgoingMessage about = std::move(*finishing_);
  finishing_.reset();
  if (texts.empty()) throw std::runtime_error("the final result could not be written");
  SayResult(std::move(texts), std::move(about));
  EndWell();
}

// After the final result.
void LiveSession::EndWell() {
  if (snapshots_ != nullptr) snapshots_->Forget();
  End(kNormalClose);
}

std::optional<OutgoingMessage> LiveSession::TakeMessage() {
  // Before "resumed" there is nothing to say of a stream that comes back.
  if (outgoing_.empty() && !close_code_.has_value() && !finishing_.has_value() &&
      stream_ != nullptr)
    Guard([this] { SayUpdate(); });
  if (outgoing_.empty()) return std::nullopt;
  OutgoingMessage message = std::move(outgoing_.front());
  outgoing_.pop_front();
  outgoing_bytes_ -= message.text.size();
  return message;
}

void LiveSession::OnSent(const OutgoingMessage& message) {
  if (message.is_snapshot && snapshots_ != nullptr) snapshots_->OnSent();
  if (message.chunk_accepted.has_value()) {
    services_.metrics->ObserveChunkLatency(SecondsSince(*message.chunk_accepted));
  }
  if (message.has_text && !has_sent_text_ && first_audio_.has_value()) {
    has_sent_text_ = true;
    services_.metrics->ObserveFirstPartialLatency(SecondsSince(*first_audio_));
  }
  if (message.is_final && finish_.has_value()) {
    services_.metrics->ObserveFinalLatency(SecondsSince(*finish_));
  }
}

std::optional<int> LiveSession::close_code() const {
  return outgoing_.empty() ? close_code_ : std::nullopt;
}

void LiveSession::Fail(ErrorCode code, const std::string& message) {
  Guard([&] { Handle(ProtocolError{code, message}); });
}

void LiveSession::Handle(const ProtocolError& error) {
  if (close_code_.has_value() || finishing_.has_value()) return;
  if (protocol_ != nullptr && stream_ != nullptr) SayUpdate();
  if (close_code_.has_value() || finishing_.has_value()) return;  // that was the final result
  LOG(INFO) << "stream " << id_ << ": " << CodeName(error.code) << ": "
            << ValidText(FirstLine(error.message));
  EndWith(error);
}

void LiveSession::EndWith(const ProtocolError& error) {
  services_.metrics->CountError(error.code);
  End(CloseCode(error.code));
  Say(protocol_ == nullptr ? std::vector<std::string>{ErrorText(error)}
                           : protocol_->OnError(error));
}

void LiveSession::Drain() {
  if (close_code_.has_value() || finishing_.has_value()) return;
  if (snapshots_ == nullptr || stream_ == nullptr) return FailDraining();
  drain_deadline_ = Clock::now() + Seconds(services_.drain_patience_s);
  snapshots_->Drain(stream_);
}

void LiveSession::FailDraining() { Fail(ErrorCode::kDraining, "the server is shutting down"); }

void LiveSession::End(int close_code) {
  close_code_ = close_code;
  waiting_.clear();
  held_.clear();
  mailbox_->Close();
  if (stream_ != nullptr) stream_->Cancel();
  stream_.reset();
}

void LiveSession::Disconnect() {
  if (!close_code_.has_value()) End(kNormalClose);
  outgoing_.clear();
  outgoing_bytes_ = 0;
}

// Whatever goes wrong here ends this conversation and nothing else.
void LiveSession::Guard(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    LOG(ERROR) << "stream " << id_ << ": " << FirstLine(error.what());
    if (!close_code_.has_value()) EndWith({ErrorCode::kInternal, "an error of the server"});
  }
}

}  // namespace runnel::server
