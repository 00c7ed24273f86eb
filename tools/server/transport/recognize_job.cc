#include "tools/server/recognize_job.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

#include "encoder/first_line.h"
#include "frontend/audio_source.h"
#include "runtime/model.h"
#include "tools/decimal.h"
#include "tools/server/access.h"
#include "tools/server/message_text.h"
#include "tools/server/protocol.h"
#include "tools/server/stream_request.h"

namespace runnel::server {
namespace {

// Samples handed over at a time.
constexpr size_t kBlock = 16000;

// In messages, in the place of a file's path.
constexpr char kRecordingName[] = "the recording";

// What a query may ask for; the recording itself says its rate, for example. "token" says who asks.
constexpr std::array<std::string_view, 6> kOptions = {"chunk_size", "left_context", "search",
                                                      "beam_size",  "nbest",        "token"};

// Of an unknown name, in messages.
constexpr size_t kLongestName = 40;

// The start message that asks for what the query asks for: options are read, and refused, by one
// reader. Throws std::invalid_argument when there are others, or one is given twice.
std::string StartMessage(std::string_view target) {
  nlohmann::ordered_json message = {{"type", "start"}, {"version", 1}};
  for (const auto& [name, value] : QueryFields(target)) {
    if (std::find(kOptions.begin(), kOptions.end(), name) == kOptions.end()) {
      throw std::invalid_argument("query: '" + name.substr(0, kLongestName) +
                                  "' is no option of a recording, expected chunk_size, "
                                  "left_context, search, beam_size or nbest");
    }
    if (name == "token") continue;
    if (message.contains(name)) {
      throw std::invalid_argument("query: '" + name + "' cannot be given twice");
    }
    const nlohmann::json number = nlohmann::json::parse(value, nullptr, /*allow_exceptions=*/false);
    message[name] = number.is_number() ? number : nlohmann::json(value);
  }
  return message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

class Job : public RecognizeJob, public std::enable_shared_from_this<Job> {
 public:
  Job(const Services& services, std::string body, std::function<void(HttpReply)> done)
      : services_(services), body_(std::move(body)), done_(std::move(done)) {}

  void Start(std::string_view target) {
    ProtocolError error;
    std::string start_message;
    try {
      start_message = StartMessage(target);
    } catch (const std::invalid_argument& invalid) {
      return Refuse(400, {ErrorCode::kBadOption, invalid.what()});
    }
    const ClientMessage message{true, start_message};
    protocol_ = ChooseProtocol(message, services_.recognizer->model()->tokens(), &error);
    if (protocol_ == nullptr) return Refuse(400, error);
    for (const ClientRequest& request : protocol_->Read(message)) {
      if (const auto* failure = std::get_if<ProtocolError>(&request)) return Refuse(400, *failure);
      if (const auto* start = std::get_if<StartRequest>(&request)) Open(*start);
    }
    if (stream_ == nullptr) return;
    Continue();
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
          },
          request.nbest);
      services_.metrics->CountStream("http");
    } catch (const std::invalid_argument& error) {
      Refuse(400, {ErrorCode::kBadOption, FirstLine(error.what())});
    }
  }

  // Goes on feeding on a file thread.
  void Continue() {
    services_.file_threads->Run([self = shared_from_this()] { self->Feed(); });
  }

  void Feed() {
    if (is_done_) return;
    try {
      if (!audio_.has_value()) {
        AudioReaderOptions options;
        options.only_wav_and_flac = true;
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
        // What a header said, or left open, need not be true.
        if (audio_->seconds_read() > services_.limits.max_recording_s) return RefuseLength();
        if (block_.empty()) {
          const double announced_s = audio_->announced_s().value_or(0);
          if (announced_s > audio_->seconds_read()) announced_ms_ = announced_s * 1000;
          audio_.reset();
          return stream_->Finish();
        }
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
    if (stream_->options().chunk_size == StreamOptions::kWholeUtterance) {
      stream_->Cancel();
      return Refuse(400, {ErrorCode::kBadOption, UtteranceTooLong(services_.limits)});
    }
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
    if (!update.is_final) return;
    if (!update.error.empty()) return Refuse(422, {ErrorCode::kStreamFailed, update.error});
    // Not here: a long result takes its time, in which the worker decodes for others.
    services_.file_threads->RunFirst([self = shared_from_this()] { self->ReplyResult(); });
  }

  void ReplyResult() {
    if (is_done_) return;
    try {
      HttpReply reply;
      reply.body = std::move(protocol_->OnUpdate(*all_).front());
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
  std::unique_ptr<Protocol> protocol_;
  std::shared_ptr<LiveStream> stream_;
  std::optional<LiveUpdate> all_;  // of the update callback, then of ReplyResult
  // Of a recording that ends before its header says; of the thread that feeds, then of ReplyResult.
  std::optional<double> announced_ms_;
  // Of the thread that feeds, one at a time.
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
