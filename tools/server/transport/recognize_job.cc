#include "tools/server/transport/recognize_job.h"

#include <glog/logging.h>

#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "frontend/audio_source.h"
#include "runtime/model.h"
#include "runtime/text/first_line.h"
#include "tools/cli/decimal.h"
#include "tools/server/protocol/message_text.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/protocol/result_messages.h"
#include "tools/server/protocol/start_options.h"
#include "tools/server/resources/access.h"
#include "tools/server/session/stream_request.h"

namespace runnel::server {
namespace {

// Samples that are read from the file at a time.
constexpr size_t kBlock = 16000;

// Stands for the file's path in messages.
constexpr char kRecordingName[] = "the recording";

class Job : public RecognizeJob, public std::enable_shared_from_this<Job> {
 public:
  Job(const Services& services, std::string body, std::function<void(HttpReply)> done)
      : services_(services), body_(std::move(body)), done_(std::move(done)) {}

  void Start(std::string_view target) {
    StartRequest request;
    try {
      request = ReadStartQuery(QueryFields(target), services_.recognizer->model()->tokens());
    } catch (const std::runtime_error& error) {
      return Refuse(400, {ErrorCode::kBadOption, error.what()});
    }
    nbest_ = static_cast<size_t>(request.options.nbest);
    Open(request);
    if (stream_ != nullptr) Continue();
  }

  void Cancel() override {
    is_done_ = true;
    if (stream_ != nullptr) stream_->Cancel();
  }

 private:
  void Open(const StartRequest& request) {
    try {
      stream_ = services_.recognizer->Open(
          CompleteOptions(request, services_.default_options, services_.limits),
          [weak = weak_from_this()](LiveStream&, const LiveUpdate& update) {
            if (const auto self = weak.lock()) self->OnUpdate(update);
          });
      services_.metrics->CountStream("http");
    } catch (const std::invalid_argument& error) {
      Refuse(400, {ErrorCode::kBadOption, FirstLine(error.what())});
    }
  }

  // Feeds the next samples on a file thread.
  void Continue() {
    services_.file_threads->Run([self = shared_from_this()] { self->Feed(); });
  }

  void Feed() {
    if (is_done_) return;
    try {
      if (!audio_.has_value()) {
        AudioReaderOptions options;
        options.only_common_formats = true;
        AudioReader reader = AudioReader::FromBytes(body_, kRecordingName, options);
        body_ = std::string();
        CheckSampleRate(reader.sample_rate_hz(), services_.limits);
        audio_.emplace(std::move(reader), services_.recognizer->model()->sample_rate_hz());
        if (audio_->duration_s().value_or(0) > services_.limits.max_recording_s) {
          return RefuseLength();
        }
      }
      if (block_begin_ == block_.size()) {
        block_.resize(kBlock);
        block_.resize(audio_->Read(block_.data(), kBlock));
        block_begin_ = 0;
        // The header may have no duration, or a wrong one.
        if (audio_->seconds_read() > services_.limits.max_recording_s) return RefuseLength();
        if (block_.empty()) {
          const double announced_s = audio_->announced_s().value_or(0);
          if (announced_s > audio_->seconds_read()) announced_ms_ = announced_s * 1000;
          audio_.reset();
          return stream_->Finish();
        }
      }
      if (!WillFit(*stream_, block_.size() - block_begin_)) {
        throw std::invalid_argument(UtteranceTooLong(services_.limits));
      }
      block_begin_ +=
          stream_->AcceptSamples(block_.data() + block_begin_, block_.size() - block_begin_);
    } catch (const std::invalid_argument& error) {
      stream_->Cancel();
      return Refuse(400, {ErrorCode::kBadOption, FirstLine(error.what())});
    } catch (const std::exception& error) {
      stream_->Cancel();
      return Refuse(400, {ErrorCode::kBadMessage, FirstLine(error.what())});
    }
    if (stream_->is_over()) return;
    if (block_begin_ == block_.size()) return Continue();
    stream_->NotifyRoom([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Continue();
    });
  }

  void OnUpdate(const LiveUpdate& update) {
    if (all_.has_value()) {
      all_->Append(update);
    } else {
      all_ = update;
    }
    services_.metrics->CountUtterances(update.utterances);
    if (!update.is_final) return;
    if (!update.error.empty()) return Refuse(422, {ErrorCode::kStreamFailed, update.error});
    // This is a worker thread, which must not spend its time on writing a long result.
    services_.file_threads->RunFirst([self = shared_from_this()] { self->ReplyResult(); });
  }

  void ReplyResult() {
    if (is_done_) return;
    try {
      HttpReply reply;
      const TokenTable& table = services_.recognizer->model()->tokens();
      const ResultParts parts{nbest_, /*tokens=*/true};
      reply.body = stream_->options().endpoints.enabled
                       ? SegmentsReply(all_->utterances, parts, table)
                       : UtteranceMessage("final", all_->utterances.back(), parts, table);
      if (announced_ms_.has_value()) {
        BeginField("announced_ms", &reply.body);
        AppendNumber(*announced_ms_, &reply.body);
        reply.body += '}';
      }
      reply.body += '\n';
      Reply(std::move(reply));
    } catch (const std::exception& error) {
      LOG(ERROR) << "a recording's result: " << FirstLine(error.what());
      Refuse(500, {ErrorCode::kInternal, "an error of the server"});
    }
  }

  void Refuse(int status, const ProtocolError& error) {
    services_.metrics->CountError(error.code);
    Reply(ErrorReply(status, CodeName(error.code), error.message));
  }

  void RefuseLength() {
    stream_->Cancel();
    services_.metrics->CountRejection(Rejection::kRecordingTooLong);
    Reply(ErrorReply(
        413, "recording_too_long",
        "the recording is longer than " + Decimal(services_.limits.max_recording_s, 1) + " s"));
  }

  void Reply(HttpReply reply) {
    if (!is_done_.exchange(true)) done_(std::move(reply));
  }

  const Services& services_;
  std::string body_;
  const std::function<void(HttpReply)> done_;
  std::atomic<bool> is_done_{false};
  size_t nbest_ = 1;
  std::shared_ptr<LiveStream> stream_;
  // All updates so far. Used by the update callback, then by ReplyResult.
  std::optional<LiveUpdate> all_;
  // The duration in the header of a recording that ends earlier. Used by Feed, then by ReplyResult.
  std::optional<double> announced_ms_;
  // Used by Feed, which runs on one thread at a time.
  std::optional<AudioSource> audio_;
  std::vector<float> block_;
  size_t block_begin_ = 0;
};

}  // namespace

std::shared_ptr<RecognizeJob> StartRecognizeJob(const Services& services, std::string_view target,
                                                std::string body,
                                                std::function<void(HttpReply)> done) {
  const auto job = std::make_shared<Job>(services, std::move(body), std::move(done));
  job->Start(target);
  return job;
}

}  // namespace runnel::server
