// How a session carries out the requests of its protocol.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "runtime/model.h"
#include "runtime/stream.h"
#include "runtime/text/first_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/seconds.h"
#include "tools/server/resources/stream_request.h"
#include "tools/server/session/live_session.h"

namespace runnel::server {

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
  if (std::holds_alternative<MoreRequest>(request)) return !IsPaused();
  return feed_ == nullptr || !feed_->is_holding();
}

void LiveSession::Handle(const StartRequest& request) {
  if (request.wants_snapshots && services_.snapshot_store != nullptr) {
    snapshots_ = std::make_shared<SessionSnapshots>(services_, client_.account, mailbox_);
  }
  // A task may outlive the session.
  const auto open = [this, &services = services_, account = client_.account, request,
                     on_update =
                         MakeUpdateCallback(services_.metrics, snapshots_, mailbox_)]() -> Then {
    try {
      return [this, stream = OpenStream(services, account, request, on_update)] {
        StartStreaming(stream, /*num_samples=*/-1, /*first_utterance=*/0);
      };
    } catch (const std::invalid_argument& error) {
      return [this, what = FirstLine(error.what())] { Fail(ErrorCode::kBadOption, what); };
    }
  };
  if (request.options.values.stream.search.hotwords != nullptr)
    return StartTask(Task::kOrdinary, open);
  open()();
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
  deadlines_.ClearStart();
  deadlines_.SetResume(Clock::now() + Seconds(services_.resume_patience_s));
  snapshots_ = std::make_shared<SessionSnapshots>(services_, client_.account, mailbox_);
  ResumeStream(services_, client_.account, request, snapshots_, mailbox_);
}

void LiveSession::OnResumed(SessionMailbox::Resumed resumed) {
  deadlines_.ClearResume();
  deadlines_.OnMessage(Clock::now());
  OnProgress(Clock::now());
  if (resumed.stream == nullptr) return Handle(resumed.error);
  services_.metrics->CountSnapshot(SnapshotResult::kResumed);
  const int64_t num_samples = resumed.stream->num_samples();
  StartStreaming(std::move(resumed.stream), num_samples, resumed.first_utterance);
  EnqueueUtterances(std::move(resumed.utterances));
}

void LiveSession::StartStreaming(std::shared_ptr<LiveStream> stream, int64_t num_samples,
                                 int64_t first_utterance) {
  state_ = State::kStreaming;
  deadlines_.ClearStart();
  feed_ = std::make_unique<StreamFeed>(std::move(stream), mailbox_,
                                       InputBudget::Share(services_.input_budget, client_.account));
  const Model& model = *services_.recognizer->model();
  services_.metrics->CountStream(protocol_->name());
  SessionInfo info;
  info.session_id = client_.id;
  info.model_name = model.name();
  info.options = feed_->stream()->options();
  info.text_tokens = &TextTokens(model, info.options);
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
  has_flushed_ = false;
  latency_.OnAudio(now);
  OnProgress(now);
  has_audio_ = true;
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
      static_cast<double>(options.chunk_size + std::max<int64_t>(0, options.right_context)) *
      services_.recognizer->model()->encoder_frame_ms();
  pacer_.OnAudio(static_cast<size_t>(chunk_ms * options.sample_rate_hz / 1000),
                 options.sample_rate_hz, Clock::now());
  has_flushed_ = true;
  stream.FinalizeUtterance();
}

void LiveSession::Handle(const FinishRequest& /*request*/) {
  if (state_ != State::kStreaming) return;
  state_ = State::kFinishing;
  latency_.OnFinish(Clock::now());
  feed_->stream()->Finish();
}

void LiveSession::Handle(const CancelRequest& /*request*/) { CloseNormally(); }

void LiveSession::Handle(const MoreRequest& /*request*/) { ReadPart(); }

void LiveSession::Handle(ImmediateReply&& reply) {
  outgoing_.Push({std::move(reply.text), std::nullopt, /*is_snapshot=*/false});
}

}  // namespace runnel::server
