#include "tools/server/recordings/recognize_job.h"

#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frontend/audio_source.h"
#include "runtime/model.h"
#include "runtime/stream.h"
#include "runtime/text/first_line.h"
#include "tools/cli/decimal.h"
#include "tools/server/resources/rated_log.h"
#include "tools/server/resources/stream_request.h"

namespace runnel::server {
namespace {

// Samples that are read from the file at a time.
constexpr size_t kBlock = 16000;

// Stands for the file's path in messages.
constexpr char kRecordingName[] = "the recording";

class Job : public RecognizeJob, public std::enable_shared_from_this<Job> {
 public:
  Job(const Services& services, const char* protocol, std::string account, Recording recording,
      RecordingReceiver receiver)
      : services_(services),
        protocol_(protocol),
        account_(std::move(account)),
        recording_(std::move(recording)),
        receiver_(std::move(receiver)) {}

  // Opens the stream, or feeds the next samples, on a thread that may wait for media_decoder.
  void Continue() {
    services_.media_threads->Run([self = shared_from_this()] { self->Feed(); }, account_);
  }

  void Cancel() override {
    is_done_ = true;
    std::shared_ptr<LiveStream> stream;
    {
      const std::lock_guard<std::mutex> lock(opening_);
      stream = stream_;
    }
    if (stream != nullptr) stream->Cancel();
  }

 private:
  // Preparing hotwords takes some milliseconds.
  void Open() {
    try {
      std::shared_ptr<LiveStream> stream =
          OpenStream(services_, account_, recording_.start,
                     [weak = weak_from_this()](LiveStream&, const LiveUpdate& update) {
                       if (const auto self = weak.lock()) self->OnUpdate(update);
                     });
      const std::lock_guard<std::mutex> lock(opening_);
      stream_ = std::move(stream);
    } catch (const std::invalid_argument& error) {
      return Refuse({ErrorCode::kBadOption, FirstLine(error.what())});
    } catch (const std::exception& error) {
      LogRated(LogLevel::kError, "recording failed", error.what());
      return Refuse({ErrorCode::kInternal, "an error of the server"});
    }
    services_.metrics->CountStream(protocol_);
    if (is_done_) return stream_->Cancel();
    Continue();
  }

  void Feed() {
    if (is_done_) return;
    if (stream_ == nullptr) return Open();
    try {
      if (!audio_.has_value()) {
        AudioReaderOptions options;
        options.only_common_formats = true;
        options.audio_track = recording_.audio_track;
        AudioReader reader = AudioReader::FromBytes(recording_.audio(), kRecordingName, options);
        recording_.body = std::string();
        CheckSampleRate(reader.sample_rate_hz(), services_.limits);
        audio_.emplace(std::move(reader), services_.recognizer->model()->sample_rate_hz());
        if (audio_->duration_s().value_or(0) > services_.limits.max_recording_s) {
          return RefuseLength();
        }
        if (receiver_.on_start) {
          receiver_.on_start(
              {*services_.recognizer->model(), stream_->options(), audio_->duration_s()});
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
          audio_ms_ = audio_->seconds_read() * 1000;
          warnings_ = audio_->Warnings();
          for (const std::string& warning : warnings_) {
            LogRated(LogLevel::kInfo, "recording", warning);
          }
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
      return Refuse({ErrorCode::kBadOption, FirstLine(error.what())});
    } catch (const std::exception& error) {
      stream_->Cancel();
      return Refuse({ErrorCode::kBadMessage, FirstLine(error.what()) + recording_.advice});
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
    if (!update.error.empty()) return Refuse({ErrorCode::kStreamFailed, update.error});
    if (!is_done_) Guard([&] { receiver_.on_update(update); });
    if (!update.is_final) return;
    // This is a worker thread, which must not spend its time on writing a long result.
    services_.file_threads->RunFirst([self = shared_from_this()] { self->HandOver(); }, account_);
  }

  void HandOver() {
    if (is_done_) return;
    Guard([this] {
      receiver_.on_result({all_->utterances, stream_->options(),
                           TextTokens(*services_.recognizer->model(), stream_->options()),
                           audio_ms_, announced_ms_, warnings_});
      is_done_ = true;
    });
  }

  template <typename Call>
  void Guard(const Call& call) {
    try {
      call();
    } catch (const std::exception& error) {
      LogRated(LogLevel::kError, "recording failed", error.what());
      stream_->Cancel();
      Refuse({ErrorCode::kInternal, "an error of the server"});
    }
  }

  void Refuse(const ProtocolError& error) {
    services_.metrics->CountError(error.code);
    Fail(error);
  }

  void RefuseLength() {
    stream_->Cancel();
    services_.metrics->CountRejection(Rejection::kRecordingTooLong);
    Fail({ErrorCode::kRecordingTooLong,
          "the recording is longer than " + Decimal(services_.limits.max_recording_s, 1) + " s"});
  }

  void Fail(const ProtocolError& error) {
    if (!is_done_.exchange(true)) receiver_.on_error(error);
  }

  const Services& services_;
  const char* const protocol_;
  const std::string account_;
  Recording recording_;  // used by Feed
  const RecordingReceiver receiver_;
  std::atomic<bool> is_done_{false};
  std::mutex opening_;                  // while Open writes stream_, and Cancel reads it
  std::shared_ptr<LiveStream> stream_;  // null before Open; then it does not change
  // All updates so far. Used by the update callback, then by HandOver.
  std::optional<LiveUpdate> all_;
  // As in RecordingResult. Used by Feed, then by HandOver.
  double audio_ms_ = 0;
  std::optional<double> announced_ms_;
  std::vector<std::string> warnings_;
  // Used by Feed, which runs on one thread at a time.
  std::optional<AudioSource> audio_;
  std::vector<float> block_;
  size_t block_begin_ = 0;
};

}  // namespace

std::shared_ptr<RecognizeJob> StartRecognizeJob(const Services& services, const char* protocol,
                                                const std::string& account, Recording recording,
                                                RecordingReceiver receiver) {
  const auto job =
      std::make_shared<Job>(services, protocol, account, std::move(recording), std::move(receiver));
  job->Continue();
  return job;
}

}  // namespace runnel::server
