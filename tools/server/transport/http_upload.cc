#include "tools/server/transport/http_upload.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "tools/cli/decimal.h"
#include "tools/server/transport/recognize_job.h"
#include "tools/server/transport/upload_deadline.h"

namespace runnel::server {
namespace {

namespace http = beast::http;
using Clock = std::chrono::steady_clock;

// How often a client that has closed its side is probed while its recording is decoded.
constexpr std::chrono::seconds kProbeInterval{1};

// Held by its operations, and by the registry until it has replied. All members on the stream's
// strand.
class HttpUpload : public std::enable_shared_from_this<HttpUpload> {
 public:
  HttpUpload(std::shared_ptr<HttpConnection> connection,
             http::request_parser<http::empty_body>&& header, Ticket slot)
      : connection_(std::move(connection)),
        slot_(std::move(slot)),
        body_(std::in_place, std::move(header)),
        deadline_(Clock::now(), limits().max_upload_s, limits().idle_timeout_s),
        probe_timer_(connection_->stream().get_executor()) {
    body_->body_limit(limits().max_body_bytes());
  }

  void Start() {
    registration_ = connection_->context().shared->registry->Add(
        [self = shared_from_this(), executor = connection_->stream().get_executor()] {
          net::post(executor, [self] { self->Drain(); });
        });
    if (!beast::iequals(body_->get()[http::field::expect], "100-continue")) return Receive();
    phase_ = Phase::kContinuing;
    connection_->SendContinue([self = shared_from_this()](const SystemError& error) {
      if (error) return self->End();
      self->phase_ = Phase::kReceiving;
      self->Receive();
    });
  }

 private:
  enum class Phase {
    kContinuing,  // "100 Continue" is being sent; nothing is read
    kReceiving,   // the body is being read
    kDecoding,    // the job runs; input is discarded
    kProbing,     // the same, while "100 Continue" is being sent
    kReplying,    // the reply is being sent; input may be discarded
    kEnded
  };

  const Services& services() const { return *connection_->context().shared->services; }
  const Limits& limits() const { return services().limits; }
  Metrics& metrics() const { return *services().metrics; }

  void Receive() {
    if (reply_.has_value()) return Reply(*std::move(reply_));
    if (body_->is_done()) return Decode();
    const Clock::time_point now = Clock::now();
    if (deadline_.HasPassed(now)) {
      metrics().CountRejection(Rejection::kUploadTimeout);
      return Reply(
          ErrorReply(408, "upload_timeout",
                     "the body takes longer than " + Decimal(limits().max_upload_s, 1) + " s"));
    }
    connection_->stream().tcp().expires_at(deadline_.ReadUntil(now));
    http::async_read_some(connection_->stream(), connection_->buffer(), *body_,
                          [self = shared_from_this()](const SystemError& error, size_t /*count*/) {
                            self->OnReceived(error);
                          });
  }

  void OnReceived(const SystemError& error) {
    if (!error || reply_.has_value()) return Receive();
    if (error == http::error::body_limit) return Reply(BodyTooLargeReply(services()));
    if (error.category() == http::make_error_code(http::error::bad_method).category()) {
      metrics().CountRejection(Rejection::kBadRequest);
      return Reply(ErrorReply(400, "bad_request", "the body: " + error.message()));
    }
    if (error == beast::error::timeout) metrics().CountRejection(Rejection::kIdle);
    End();
  }

  // The connection ends after the reply, so that further input need not be kept.
  void Decode() {
    phase_ = Phase::kDecoding;
    http::request<http::string_body> request = body_->release();
    body_.reset();
    const std::string target(request.target().data(), request.target().size());
    const auto done = [weak = weak_from_this(),
                       executor = connection_->stream().get_executor()](HttpReply reply) {
      net::post(executor, [weak, reply = std::move(reply)]() mutable {
        if (const auto self = weak.lock()) self->OnReady(std::move(reply));
      });
    };
    connection_->stream().tcp().expires_never();
    job_ = StartRecognizeJob(services(), target, std::move(request.body()), done);
    connection_->DiscardInput([weak = weak_from_this()](HttpConnection::InputEnd end) {
      if (const auto self = weak.lock()) self->OnInputEnd(end);
    });
  }

  void OnInputEnd(HttpConnection::InputEnd end) {
    if (end == HttpConnection::InputEnd::kBroken) return End();
    if (phase_ == Phase::kDecoding) ProbeLater();
  }

  // A client that has closed its side either waits for the reply or is gone. Only writing tells
  // which: "100 Continue" may be sent any number of times, and a client that is gone resets the
  // connection.
  void ProbeLater() {
    probe_timer_.expires_after(kProbeInterval);
    probe_timer_.async_wait([self = shared_from_this()](const SystemError& stopped) {
      if (!stopped && self->phase_ == Phase::kDecoding) self->Probe();
    });
  }

  void Probe() {
    phase_ = Phase::kProbing;
    connection_->SendContinue([self = shared_from_this()](const SystemError& error) {
      if (self->phase_ != Phase::kProbing) return;
      if (error) return self->End();
      self->phase_ = Phase::kDecoding;
      if (self->reply_.has_value()) return self->Reply(*std::move(self->reply_));
      self->ProbeLater();
    });
  }

  // The reply is there, from the job or because the server ends.
  void OnReady(HttpReply reply) {
    switch (phase_) {
      case Phase::kReceiving:
        connection_->stream().tcp().cancel();
        [[fallthrough]];
      case Phase::kContinuing:
      case Phase::kProbing:
        reply_ = std::move(reply);  // sent when the operation under way has ended
        return;
      case Phase::kDecoding:
        return Reply(std::move(reply));
      case Phase::kReplying:
      case Phase::kEnded:
        return;
    }
  }

  // The server ends and does not wait for the recording any more.
  void Drain() {
    if (phase_ == Phase::kReplying || phase_ == Phase::kEnded || slot_ == nullptr) return;
    // The server waits for the slots, so this one is kept until the client has read the reply.
    slot_until_close_ = std::move(slot_);
    if (job_ != nullptr) job_->Cancel();
    OnReady(RefusalReply(Refusal::kDraining, &metrics()));
  }

  void Reply(HttpReply reply) {
    phase_ = Phase::kReplying;
    probe_timer_.cancel();
    job_.reset();
    connection_->SendReply(std::move(reply), {}, [self = shared_from_this()](const auto& error) {
      self->OnReplied(error);
    });
  }

  void OnReplied(const SystemError& error) {
    if (error || phase_ == Phase::kEnded) return End();
    phase_ = Phase::kEnded;
    registration_.reset();
    slot_.reset();
    connection_->CloseAfterReply(std::move(slot_until_close_));
  }

  // The client is gone.
  void End() {
    phase_ = Phase::kEnded;
    probe_timer_.cancel();
    if (job_ != nullptr) job_->Cancel();
    job_.reset();
    registration_.reset();
    slot_.reset();
    slot_until_close_.reset();
    connection_->Close();
  }

  const std::shared_ptr<HttpConnection> connection_;
  Phase phase_ = Phase::kReceiving;
  Ticket slot_;
  Ticket slot_until_close_;
  SessionRegistry::Handle registration_;
  std::optional<http::request_parser<http::string_body>> body_;
  const UploadDeadline deadline_;
  std::shared_ptr<RecognizeJob> job_;
  net::steady_timer probe_timer_;
  std::optional<HttpReply> reply_;  // waits for the operation under way
};

}  // namespace

void ServeUpload(std::shared_ptr<HttpConnection> connection,
                 http::request_parser<http::empty_body>&& header, Ticket slot) {
  std::make_shared<HttpUpload>(std::move(connection), std::move(header), std::move(slot))->Start();
}

HttpReply BodyTooLargeReply(const Services& services) {
  services.metrics->CountRejection(Rejection::kBodyTooLarge);
  return ErrorReply(
      413, "body_too_large",
      "the body is larger than " + std::to_string(services.limits.max_body_bytes()) + " bytes");
}

}  // namespace runnel::server
