#include "tools/server/http_session.h"

#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/decimal.h"
#include "tools/seconds.h"
#include "tools/server/http_reply.h"
#include "tools/server/recognize_job.h"
#include "tools/server/websocket_session.h"

namespace runnel::server {
namespace {

namespace http = beast::http;
using Clock = std::chrono::steady_clock;

// How long, and how much, a client that was answered for the last time may still send.
constexpr std::chrono::seconds kLingerTime{2};
// The same, and the time for a handshake or a header, above max_connections: others want to be
// told.
constexpr std::chrono::milliseconds kRefusedLingerTime{200};
constexpr double kRefusedHeader_s = 1;
// Between two questions whether a client that sends nothing more still waits for its answer.
constexpr std::chrono::seconds kAskAgain{1};
constexpr size_t kMostDropped = size_t{128} << 20;
constexpr size_t kDropBlock = 16384;

constexpr char kContinue[] = "HTTP/1.1 100 Continue\r\n\r\n";

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

// The header may come in several lines: proxies add theirs at the end of the list, or below it.
std::string ForwardedFor(const http::request<http::empty_body>& request) {
  std::string all;
  const auto [begin, end] = request.equal_range("X-Forwarded-For");
  for (auto line = begin; line != end; ++line) {
    all += View(line->value());
    all += ',';
  }
  return all;
}

// Lives as long as an operation of it is under way. All members on the stream's strand.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(AnyStream stream, ConnectionContext context)
      : stream_(std::move(stream)),
        peer_(context.address),
        context_(std::move(context)),
        buffer_(limits().max_header_bytes + kDropBlock),
        linger_timer_(stream_.get_executor()) {}

  void Start() {
    if (!stream_.has_tls()) return ReadHeader();
    stream_.tcp().expires_after(Seconds(Patience(limits().handshake_timeout_s)));
    stream_.async_handshake([self = shared_from_this()](ErrorOfSystem error) {
      if (!error) return self->ReadHeader();
      self->metrics().CountRejection(Rejection::kTlsHandshake);
      self->stream_.Close();
    });
  }

 private:
  const Services& services() const { return *context_.shared->services; }
  const Limits& limits() const { return services().limits; }
  Metrics& metrics() const { return *services().metrics; }

  bool IsAboveLimit() const { return context_.refusal == Refusal::kConnections; }
  double Patience(double limit_s) const {
    return IsAboveLimit() ? std::min(limit_s, kRefusedHeader_s) : limit_s;
  }

  void ReadHeader() {
    header_.emplace();
    header_->header_limit(static_cast<std::uint32_t>(limits().max_header_bytes));
    header_->body_limit(std::numeric_limits<std::uint64_t>::max());  // Route decides
    stream_.tcp().expires_after(Seconds(Patience(limits().header_timeout_s)));
    http::async_read_header(stream_, buffer_, *header_,
                            [self = shared_from_this()](ErrorOfSystem error, size_t /*count*/) {
                              self->OnHeader(error);
                            });
  }

  void OnHeader(const ErrorOfSystem& error) {
    if (error == beast::error::timeout) {
      if (header_->got_some() || !has_replied_) metrics().CountRejection(Rejection::kHeaderTimeout);
      return stream_.Close();
    }
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      metrics().CountRejection(Rejection::kHeaderTooLarge);
      return Refuse(ErrorReply(
          431, "header_too_large",
          "the header is larger than " + std::to_string(limits().max_header_bytes) + " bytes"));
    }
    if (error == http::error::end_of_stream || error == net::error::eof) return ShutDown();
    if (error && error.category() == http::make_error_code(http::error::bad_method).category()) {
      metrics().CountRejection(Rejection::kBadRequest);
      return Refuse(ErrorReply(400, "bad_request", "expected an HTTP request: " + error.message()));
    }
    if (error) return stream_.Close();
    Route();
  }

  void Route() {
    const http::request<http::empty_body>& request = header_->get();
    FindAddress();
    const std::string_view target = View(request.target());
    if (context_.refusal != Refusal::kNone) {
      if (IsProbe(target)) return Refuse(Answer(services(), View(request.method_string()), target));
      return Refuse(RefusalReply(context_.refusal, &metrics()));
    }
    if (beast::websocket::is_upgrade(request)) return Upgrade();
    if (PathOf(target) == kRecognizePath && request.method() == http::verb::post) return Upload();
    keep_alive_ = request.keep_alive();
    HttpReply reply = Answer(services(), View(request.method_string()), target);
    const bool has_body = header_->chunked() || header_->content_length().value_or(0) > 0;
    if (has_body) return Refuse(std::move(reply));
    Reply(std::move(reply));
  }

  // Whose request it is: behind a proxy, which uses a connection for several clients, every one's.
  void FindAddress() {
    const AccessRules& access = *context_.shared->access;
    if (!access.IsTrusted(peer_)) return;
    context_.address = access.ClientAddress(peer_, ForwardedFor(header_->get()));
    context_.address_ticket.reset();
    if (IsAboveLimit()) return;
    context_.address_ticket =
        services().admission->AdmitAddress(context_.address, &context_.refusal);
  }

  bool IsAllowed() {
    const http::request<http::empty_body>& request = header_->get();
    if (context_.shared->access->IsAllowed(View(request[http::field::authorization]),
                                           View(request.target()))) {
      return true;
    }
    metrics().CountRejection(Rejection::kUnauthorized);
    HttpReply reply =
        ErrorReply(401, CodeName(ErrorCode::kUnauthorized), "expected a bearer token");
    reply.headers.emplace_back("WWW-Authenticate", "Bearer");
    Refuse(std::move(reply));
    return false;
  }

  void Upgrade() {
    if (!IsAllowed()) return;
    if (buffer_.size() > 0) {
      return Refuse(ErrorReply(400, "bad_request", "data before the answer to the upgrade"));
    }
    Refusal refusal = Refusal::kNone;
    Ticket ticket = services().admission->AdmitStream(context_.address, &refusal);
    if (ticket == nullptr) return Refuse(RefusalReply(refusal, &metrics()));
    stream_.tcp().expires_never();  // the WebSocket has its own
    ServeWebSocket(std::move(stream_), std::move(context_), std::move(ticket), header_->get());
  }

  void Upload() {
    if (!IsAllowed()) return;
    if (header_->content_length().value_or(0) > limits().max_body_bytes) return RefuseBody();
    Refusal refusal = Refusal::kNone;
    upload_ticket_ = services().admission->AdmitUpload(context_.address, &refusal);
    if (upload_ticket_ == nullptr) return Refuse(RefusalReply(refusal, &metrics()));
    registration_ = context_.shared->registry->Add([self = shared_from_this()] {
      net::post(self->stream_.get_executor(), [self] { self->DrainUpload(); });
    });
    is_answered_ = false;
    upload_deadline_ = Clock::now() + Seconds(limits().max_upload_s);
    const bool waits = beast::iequals(header_->get()[http::field::expect], "100-continue");
    body_.emplace(std::move(*header_));
    body_->body_limit(limits().max_body_bytes);
    if (!waits) return ContinueBody();
    is_telling_to_continue_ = true;
    net::async_write(stream_, net::buffer(kContinue, sizeof(kContinue) - 1),
                     [self = shared_from_this()](ErrorOfSystem error, size_t /*count*/) {
                       self->is_telling_to_continue_ = false;
                       if (!error) return self->ContinueBody();
                       self->EndUpload();
                     });
  }

  void ContinueBody() {
    if (is_draining_) return RefuseDraining();
    if (body_->is_done()) return Recognize();
    const Clock::time_point now = Clock::now();
    if (now >= upload_deadline_) {
      metrics().CountRejection(Rejection::kUploadTimeout);
      return Refuse(
          ErrorReply(408, "upload_timeout",
                     "the body takes longer than " + Decimal(limits().max_upload_s, 1) + " s"));
    }
    // Who sends nothing any more is not told.
    Clock::time_point give_up = upload_deadline_ + kLingerTime;
    if (limits().idle_timeout_s > 0) {
      give_up = std::min(give_up, now + Seconds(limits().idle_timeout_s));
    }
    stream_.tcp().expires_at(give_up);
    is_dropping_ = true;  // nobody else reads now
    http::async_read_some(stream_, buffer_, *body_,
                          [self = shared_from_this()](ErrorOfSystem error, size_t /*count*/) {
                            self->OnBody(error);
                          });
  }

  void OnBody(const ErrorOfSystem& error) {
    if (is_draining_) return OnDropped(error, 0);
    is_dropping_ = false;
    if (error == http::error::body_limit) return RefuseBody();
    if (error && error.category() == http::make_error_code(http::error::bad_method).category()) {
      metrics().CountRejection(Rejection::kBadRequest);
      return Refuse(ErrorReply(400, "bad_request", "the body: " + error.message()));
    }
    if (error == beast::error::timeout) metrics().CountRejection(Rejection::kIdle);
    if (error) return EndUpload();
    ContinueBody();
  }

  void Recognize() {
    http::request<http::string_body> request = body_->release();
    const std::string target(View(request.target()));
    const auto done = [weak = weak_from_this(),
                       executor = stream_.get_executor()](HttpReply reply) {
      net::post(executor, [weak, reply = std::move(reply)]() mutable {
        if (const auto self = weak.lock()) self->AnswerUpload(std::move(reply));
      });
    };
    stream_.tcp().expires_never();
    job_ = StartRecognizeJob(services(), target, std::move(request.body()), done);
    Drop();
  }

  // Once, by the job or by a server that ends.
  void AnswerUpload(HttpReply reply) {
    if (is_answered_) return;
    if (is_asking_) {
      answer_ = std::move(reply);
      return;
    }
    linger_timer_.cancel();
    Refuse(std::move(reply));
  }

  // A client that sends nothing more either waits for its answer or has gone, and nothing but
  // writing tells which: the answer 100 may come any number of times, and one who has gone resets
  // the connection at it.
  void WatchWhetherItWaits() {
    if (is_answered_ || job_ == nullptr) return;
    linger_timer_.expires_after(kAskAgain);
    linger_timer_.async_wait([self = shared_from_this()](ErrorOfSystem stopped) {
      if (!stopped) self->AskWhetherItWaits();
    });
  }

  void AskWhetherItWaits() {
    if (is_answered_) return;
    is_asking_ = true;
    net::async_write(stream_, net::buffer(kContinue, sizeof(kContinue) - 1),
                     [self = shared_from_this()](ErrorOfSystem error, size_t /*count*/) {
                       self->OnAsked(error);
                     });
  }

  void OnAsked(const ErrorOfSystem& error) {
    is_asking_ = false;
    if (error) return EndUpload();
    if (answer_.has_value()) return AnswerUpload(*std::move(answer_));
    WatchWhetherItWaits();
  }

  // The server ends: the recording is not waited for any more.
  void DrainUpload() {
    if (is_draining_ || is_answered_ || upload_ticket_ == nullptr) return;
    is_draining_ = true;
    if (!is_telling_to_continue_) RefuseDraining();
  }

  void RefuseDraining() {
    if (job_ != nullptr) job_->Cancel();
    AnswerUpload(RefusalReply(Refusal::kDraining, &metrics()));
  }

  // Whatever comes is dropped: while a recording is decoded, because the connection ends after the
  // answer; after an answer, because closing at once could take it along. When the connection
  // breaks, the job ends; at an end of the client's own the answer may still be waited for.
  void Drop() {
    is_dropping_ = true;
    stream_.async_read_some(net::buffer(dropped_),
                            [self = shared_from_this()](ErrorOfSystem error, size_t count) {
                              self->OnDropped(error, count);
                            });
  }

  void OnDropped(const ErrorOfSystem& error, size_t count) {
    num_dropped_ += count;
    if (!error && num_dropped_ <= kMostDropped) return Drop();
    is_dropping_ = false;
    has_ended_ = error == net::error::eof || error == http::error::end_of_stream ||
                 error == http::error::partial_message;
    if (has_ended_ && !is_lingering_) return WatchWhetherItWaits();
    linger_timer_.cancel();
    EndUpload();
  }

  void RefuseBody() {
    metrics().CountRejection(Rejection::kBodyTooLarge);
    Refuse(ErrorReply(
        413, "body_too_large",
        "the body is larger than " + std::to_string(limits().max_body_bytes) + " bytes"));
  }

  void EndUpload() {
    if (job_ != nullptr) job_->Cancel();
    job_.reset();
    registration_.reset();
    upload_ticket_.reset();
    stream_.Close();
  }

  // The connection ends after this reply: what the client still sends is not looked at.
  void Refuse(HttpReply reply) {
    keep_alive_ = false;
    Reply(std::move(reply));
  }

  void Reply(HttpReply reply) {
    job_.reset();
    has_replied_ = true;
    is_answered_ = true;
    const bool is_head = header_->is_header_done() && header_->get().method() == http::verb::head;
    response_.emplace(static_cast<http::status>(reply.status), 11);
    response_->set(http::field::server, "runnel");
    response_->set(http::field::content_type, reply.content_type);
    response_->set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : reply.headers) response_->set(name, value);
    if (response_->find(http::field::cache_control) == response_->end()) {
      response_->set(http::field::cache_control, "no-store");
    }
    response_->keep_alive(keep_alive_);
    response_->content_length(reply.body.size());
    if (!is_head) response_->body() = std::move(reply.body);
    stream_.tcp().expires_after(Seconds(limits().send_timeout_s));
    http::async_write(stream_, *response_,
                      [self = shared_from_this()](ErrorOfSystem error, size_t /*count*/) {
                        self->OnReplied(error);
                      });
  }

  void OnReplied(const ErrorOfSystem& error) {
    registration_.reset();
    if (error) return EndUpload();
    // Not earlier: a server that drains waits for it, and for a client that was just cut off to
    // have read why.
    if (!is_draining_ || has_ended_) upload_ticket_.reset();
    if (keep_alive_) return ReadHeader();
    ShutDown();
  }

  // Says that nothing more comes, then reads until the client has gone too.
  void ShutDown() {
    ErrorOfSystem ignored;
    if (!stream_.has_tls()) {
      stream_.tcp().socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
    }
    is_lingering_ = true;
    if (has_ended_) return stream_.Close();
    linger_timer_.expires_after(IsAboveLimit() ? kRefusedLingerTime : kLingerTime);
    linger_timer_.async_wait([self = shared_from_this()](ErrorOfSystem error) {
      if (!error) self->EndUpload();
    });
    stream_.tcp().expires_never();
    if (!is_dropping_) Drop();
  }

  AnyStream stream_;
  const std::string peer_;
  ConnectionContext context_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> header_;
  std::optional<http::request_parser<http::string_body>> body_;
  std::optional<http::response<http::string_body>> response_;
  bool keep_alive_ = false;
  bool has_replied_ = false;
  net::steady_timer linger_timer_;
  bool is_dropping_ = false;
  size_t num_dropped_ = 0;
  std::array<char, kDropBlock> dropped_;

  Ticket upload_ticket_;
  SessionRegistry::Handle registration_;  // of an upload; keeps this while nothing is read
  bool is_telling_to_continue_ = false;
  bool is_draining_ = false;   // the server ends, the upload with it
  bool is_answered_ = false;   // the upload
  bool has_ended_ = false;     // the client sends nothing more
  bool is_lingering_ = false;  // everything was said
  Clock::time_point upload_deadline_;
  std::shared_ptr<RecognizeJob> job_;
  bool is_asking_ = false;           // whether the client still waits
  std::optional<HttpReply> answer_;  // until that is asked
};

}  // namespace

void ServeConnection(AnyStream stream, ConnectionContext context) {
  const auto session = std::make_shared<HttpSession>(std::move(stream), std::move(context));
  session->Start();
}

}  // namespace runnel::server
