#include "tools/server/transport/http_session.h"

#include <openssl/err.h>
#include <openssl/sslerr.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/model.h"
#include "tools/cli/seconds.h"
#include "tools/server/dialects/protocol_registry.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/message_text.h"
#include "tools/server/transport/http_connection.h"
#include "tools/server/transport/http_reply.h"
#include "tools/server/transport/http_upload.h"
#include "tools/server/transport/request_checks.h"
#include "tools/server/transport/request_route.h"
#include "tools/server/transport/websocket_session.h"

namespace runnel::server {
namespace {

namespace http = beast::http;

constexpr std::chrono::seconds kLingerTime{2};
// Connections above max_connections get less time, so that others can be refused too.
constexpr std::chrono::milliseconds kRefusedLingerTime{200};
constexpr double kRefusedTimeout_s = 1;
// Between two looks whether the client of a request that waits for its turn has gone.
constexpr std::chrono::seconds kLossStep{1};
// Bytes of a body that are read together with the header, at most.
constexpr size_t kReadAhead = 16384;

constexpr std::string_view kTlsExpected =
    "HTTP/1.1 400 Bad Request\r\n"
    "Connection: close\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n"
    "Content-Length: 49\r\n\r\n"
    "this port expects TLS, as in https:// or wss://\r\n";

// Whether the client of a TLS handshake sent a request of HTTP instead.
bool IsPlainHttp(const SystemError& error) {
  return error.category() == net::error::get_ssl_category() &&
         ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
}

std::string_view View(beast::string_view text) { return {text.data(), text.size()}; }

// The headers that are lists, of those that the server reads.
constexpr std::array<const char*, 7> kListHeaders = {
    "Access-Control-Request-Headers", "Connection", "Content-Encoding", "Expect",
    "Sec-WebSocket-Protocol",         "Upgrade",    "X-Forwarded-For"};

// Makes one line of the lines of each list (RFC 9110, section 5.3): a client or a proxy may add a
// line instead of extending one, and Boost.Beast looks at the first line only.
void JoinLists(http::request<http::empty_body>* request) {
  for (const char* name : kListHeaders) {
    const auto [begin, end] = request->equal_range(name);
    if (begin == end || std::next(begin) == end) continue;
    std::string all;
    for (auto line = begin; line != end; ++line) {
      all += all.empty() ? "" : ", ";
      all += View(line->value());
    }
    request->set(name, all);
  }
}

bool IsAboveConnectionLimit(const ConnectionContext& context) {
  return context.refusal == Refusal::kConnections;
}

HttpConnection::Options OptionsFor(const ConnectionContext& context) {
  const Limits& limits = context.shared->services->limits;
  HttpConnection::Options options;
  options.max_buffer_bytes = static_cast<size_t>(limits.max_header_bytes) + kReadAhead;
  options.send_timeout = Seconds(limits.send_timeout_s);
  options.linger_time = kLingerTime;
  if (IsAboveConnectionLimit(context)) options.linger_time = kRefusedLingerTime;
  return options;
}

// Reads requests and replies to them, until the connection ends or becomes a WebSocket or an
// upload. Held by its operations. All members on the stream's strand.
class HttpSession : public std::enable_shared_from_this<HttpSession> {
 public:
  explicit HttpSession(std::shared_ptr<HttpConnection> connection)
      : connection_(std::move(connection)),
        peer_(context().address),
        turn_timer_(connection_->stream().get_executor()) {}

  void Start() {
    AnyStream& stream = connection_->stream();
    // Without patience: whoever fills the server with silent connections cannot keep a probe out.
    context().ticket->Offer(HttpConnection::Clock::duration::zero(),
                            [weak = weak_from_this(), executor = stream.get_executor()] {
                              net::post(executor, [weak] {
                                if (const auto self = weak.lock()) self->GiveUp();
                              });
                            });
    if (!stream.has_tls()) return ReadHeader();
    stream.tcp().expires_after(Timeout(limits().handshake_timeout_s));
    stream.async_handshake(net::ssl::stream_base::server,
                           [self = shared_from_this()](const SystemError& error) {
                             if (!error) return self->ReadHeader();
                             self->metrics().CountRejection(Rejection::kTlsHandshake);
                             if (IsPlainHttp(error)) return self->RefusePlainHttp();
                             self->connection_->Close();
                           });
  }

 private:
  ConnectionContext& context() const { return connection_->context(); }
  const Services& services() const { return *context().shared->services; }
  const Limits& limits() const { return services().limits; }
  Metrics& metrics() const { return *services().metrics; }
  const http::request<http::empty_body>& request() const { return header_->get(); }

  HttpConnection::Clock::duration Timeout(double limit_s) const {
    return Seconds(IsAboveConnectionLimit(context()) ? std::min(limit_s, kRefusedTimeout_s)
                                                     : limit_s);
  }

  // Below TLS, which has not begun.
  void RefusePlainHttp() {
    net::async_write(connection_->stream().tcp(), net::buffer(kTlsExpected),
                     [self = shared_from_this()](const SystemError& error, size_t /*count*/) {
                       if (error) return self->connection_->Close();
                       SystemError ignored;
                       self->connection_->stream().tcp().socket().shutdown(
                           net::ip::tcp::socket::shutdown_send, ignored);
                       self->connection_->CloseAfterReply();
                     });
  }

  // Another client has the slot now.
  void GiveUp() {
    is_given_up_ = true;
    if (!is_waiting_) return;
    turn_timer_.cancel();
    connection_->Close();
  }

  void ReadHeader() {
    if (is_given_up_) return connection_->CloseAfterReply();
    is_waiting_ = true;
    context().ticket->Use();
    header_.emplace();
    header_->header_limit(static_cast<std::uint32_t>(limits().max_header_bytes));
    // The limit of a body depends on the route, which the header decides.
    header_->body_limit(std::numeric_limits<std::uint64_t>::max());
    connection_->stream().tcp().expires_after(Timeout(limits().header_timeout_s));
    http::async_read_header(
        connection_->stream(), connection_->buffer(), *header_,
        [self = shared_from_this()](const SystemError& error, size_t /*count*/) {
          self->OnHeader(error);
        });
  }

  void OnHeader(const SystemError& error) {
    is_waiting_ = false;
    if (is_given_up_) return connection_->Close();
    if (!error) {
      context().ticket->Use();
      return Serve();
    }
    if (error == beast::error::timeout) {
      // A client that keeps a connection for later requests has done nothing wrong.
      const bool is_first = num_replies_ == 0;
      if (is_first || header_->got_some()) metrics().CountRejection(Rejection::kHeaderTimeout);
      return connection_->Close();
    }
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      metrics().CountRejection(Rejection::kHeaderTooLarge);
      return ReplyAndClose(ErrorReply(
          431, "header_too_large",
          "the header is larger than " + std::to_string(limits().max_header_bytes) + " bytes"));
    }
    if (error == http::error::end_of_stream || error == net::error::eof) {
      return connection_->CloseAfterReply();
    }
    if (error.category() == http::make_error_code(http::error::bad_method).category()) {
      metrics().CountRejection(Rejection::kBadRequest);
      return ReplyAndClose(
          ErrorReply(400, "bad_request", "expected an HTTP request: " + error.message()));
    }
    connection_->Close();
  }

  void Serve() {
    JoinLists(&header_->get());
    connection_->SetVersion(request().version());
    const std::string_view origin = View(request()[http::field::origin]);
    connection_->SetReader(context().shared->origins->IsListed(origin) ? std::string(origin) : "");
    const HttpConnection::Clock::time_point turn = AdmitAddress();
    if (turn <= HttpConnection::Clock::now()) return ServeTurn();
    metrics().CountPause(Pause::kConnections);
    connection_->stream().tcp().expires_never();
    is_waiting_ = true;
    WaitForTurn(turn);
  }

  void WaitForTurn(HttpConnection::Clock::time_point turn) {
    turn_timer_.expires_at(std::min(turn, HttpConnection::Clock::now() + kLossStep));
    turn_timer_.async_wait([self = shared_from_this(), turn](const SystemError& stopped) {
      if (stopped || self->is_given_up_) return;
      if (self->connection_->stream().IsLost()) return self->connection_->Close();
      if (HttpConnection::Clock::now() < turn) return self->WaitForTurn(turn);
      self->is_waiting_ = false;
      self->ServeTurn();
    });
  }

  void ServeTurn() {
    if (std::optional<HttpReply> fault = FaultOf(request())) {
      metrics().CountRejection(Rejection::kBadRequest);
      return ReplyAndClose(*std::move(fault));
    }
    if (IsPreflight()) return Reply(PreflightReply(), request().keep_alive());
    RequestHead head;
    head.method = View(request().method_string());
    head.target = View(request().target());
    head.is_upgrade = beast::websocket::is_upgrade(request());
    head.has_body = header_->chunked() || header_->content_length().value_or(0) > 0;
    head.keeps_alive = request().keep_alive();
    switch (RouteOf(head, context().refusal)) {
      case Route::kReply:
        if (NeedsToken(head.target) && !CheckToken()) return;
        return Reply(Answer(services(), head.method, head.target), /*keeps_alive=*/true);
      case Route::kReplyAndClose:
        if (NeedsToken(head.target) && !CheckToken()) return;
        return ReplyAndClose(Answer(services(), head.method, head.target));
      case Route::kRefuse:
        return Refuse(RefusalReply(context().refusal, &metrics()));
      case Route::kWebSocket:
        return Upgrade();
      case Route::kUpload:
        return Upload();
    }
  }

  // Behind a trusted proxy, each request of a connection may come from another client, whose turn
  // begins at the time that is returned.
  HttpConnection::Clock::time_point AdmitAddress() {
    const HttpConnection::Clock::time_point now = HttpConnection::Clock::now();
    const AccessRules& access = *context().shared->access;
    if (!access.IsTrusted(peer_)) return now;
    context().address = access.ClientAddress(peer_, View(request()["X-Forwarded-For"]));
    context().address_ticket.reset();
    if (IsAboveConnectionLimit(context())) return now;
    const std::string account = context().client().account;
    context().address_ticket = services().admission->AdmitAddress(account, &context().refusal);
    if (context().refusal != Refusal::kNone) return now;
    return services().admission->connection_rate().Next(account, now);
  }

  // What the client offers.
  std::vector<std::string> Subprotocols() const {
    return SplitAtCommas(View(request()["Sec-WebSocket-Protocol"]));
  }

  // A browser asks whether a page of a listed origin may make a request.
  bool IsPreflight() const {
    return request().method() == http::verb::options &&
           request().find(http::field::access_control_request_method) != request().end() &&
           context().shared->origins->IsListed(View(request()[http::field::origin]));
  }

  HttpReply PreflightReply() const {
    HttpReply reply;
    reply.status = 204;
    reply.headers.emplace_back("Access-Control-Allow-Methods", "GET, HEAD, POST");
    const std::string_view asked = View(request()["Access-Control-Request-Headers"]);
    if (!asked.empty()) reply.headers.emplace_back("Access-Control-Allow-Headers", asked);
    // Chromium asks before a page of the Internet reaches a private address.
    if (View(request()["Access-Control-Request-Private-Network"]) == "true") {
      reply.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
    }
    reply.headers.emplace_back("Access-Control-Max-Age", "600");
    return reply;
  }

  // False when a web page makes the request that may not; the browser has been told so then. A page
  // that has the token of this server was given it.
  bool CheckOrigin() {
    const AccessRules& access = *context().shared->access;
    const std::string_view origin = View(request()[http::field::origin]);
    std::string_view host = HostOf(request());
    const std::string_view forwarded = View(request()["X-Forwarded-Host"]);
    if (access.IsTrusted(peer_) && !forwarded.empty()) host = forwarded;
    if (access.has_token() || context().shared->origins->IsAllowed(origin, host)) return true;
    metrics().CountRejection(Rejection::kOrigin);
    const std::string message =
        "pages of " + OneLine(std::string(origin)) + " may not use this server (--allow_origin)";
    Refuse(ErrorReply(403, "origin_not_allowed", message));
    return false;
  }

  // False when the client lacks the bearer token; it has been told so then.
  bool CheckToken() {
    const AccessRules& access = *context().shared->access;
    const std::vector<std::string>& headers = dialect().token_places.headers;
    if (access.IsAllowed(View(request()[http::field::authorization]), View(request().target()),
                         Subprotocols()) ||
        std::any_of(headers.begin(), headers.end(), [&](const std::string& name) {
          return access.IsAllowed("Bearer " + std::string(View(request()[name])), /*target=*/"");
        })) {
      return true;
    }
    metrics().CountRejection(Rejection::kUnauthorized);
    HttpReply reply = ErrorReply(401, dialect().unauthorized_code, "expected a bearer token");
    reply.headers.emplace_back("WWW-Authenticate", "Bearer");
    Refuse(std::move(reply));
    return false;
  }

  std::string Path() const { return PathOf(View(request().target())); }

  const HttpDialect& dialect() const { return HttpDialectOf(Path()); }

  Opening OpeningRequest() const {
    Opening opening;
    opening.session_id = context().id;
    opening.path = Path();
    opening.query = QueryFields(View(request().target()));
    opening.subprotocols = Subprotocols();
    opening.header = [this](std::string_view name) { return View(request()[name]); };
    return opening;
  }

  void Upgrade() {
    if (!CheckOrigin() || !CheckToken()) return;
    std::shared_ptr<Protocol> protocol;
    try {
      protocol = ChooseProtocol(OpeningRequest(), services().recognizer->model()->tokens());
    } catch (const ClientMistake& mistake) {
      metrics().CountRejection(Rejection::kBadRequest);
      const int status = mistake.code() == ErrorCode::kUnknownVersion ? 404 : 400;
      return Refuse(ErrorReply(status, CodeName(mistake.code()), mistake.what()));
    }
    if (connection_->buffer().size() > 0) {
      return ReplyAndClose(ErrorReply(400, "bad_request", "data before the answer to the upgrade"));
    }
    Refusal refusal = Refusal::kNone;
    Ticket slot = services().admission->AdmitStream(context().client().account, &refusal);
    if (slot == nullptr) return Refuse(RefusalReply(refusal, &metrics()));
    connection_->stream().tcp().expires_never();  // WebSocketSession sets its own timeouts
    ServeWebSocket(std::move(connection_->stream()), std::move(context()), std::move(slot),
                   request(), std::move(protocol));
  }

  void Upload() {
    if (!CheckOrigin() || !CheckToken()) return;
    const std::string_view coding = View(request()[http::field::content_encoding]);
    if (!coding.empty() && !beast::iequals(coding, "identity")) {
      metrics().CountRejection(Rejection::kBadRequest);
      return Refuse(ErrorReply(415, "bad_request", "Content-Encoding: expected none"));
    }
    if (header_->content_length().value_or(0) > limits().max_body_bytes()) {
      return Refuse(BodyTooLargeReply(services()));
    }
    Refusal refusal = limits().max_uploads > 0 ? Refusal::kNone : Refusal::kUploads;
    Ticket slot;
    if (refusal == Refusal::kNone) {
      slot = services().admission->AdmitStream(context().client().account, &refusal);
    }
    if (slot == nullptr) return Refuse(RefusalReply(refusal, &metrics()));
    ServeUpload(connection_, std::move(*header_), std::move(slot));
  }

  // Refuses a request in the words that its client knows.
  void Refuse(HttpReply reply) {
    ReplyAndClose(dialect().in_words(std::move(reply), context().id));
  }

  void ReplyAndClose(HttpReply reply) { Reply(std::move(reply), /*keeps_alive=*/false); }

  void Reply(HttpReply reply, bool keeps_alive) {
    ++num_replies_;
    HttpConnection::ReplyOptions options;
    options.keeps_alive = keeps_alive;
    options.omits_body = header_->is_header_done() && request().method() == http::verb::head;
    connection_->SendReply(std::move(reply), options,
                           [self = shared_from_this(), keeps_alive](const SystemError& error) {
                             if (error) return self->connection_->Close();
                             if (keeps_alive) return self->ReadHeader();
                             self->connection_->CloseAfterReply();
                           });
  }

  const std::shared_ptr<HttpConnection> connection_;
  const std::string peer_;  // the address of the client or of a proxy
  std::optional<http::request_parser<http::empty_body>> header_;
  net::steady_timer turn_timer_;  // of the request of a proxy
  int64_t num_replies_ = 0;
  bool is_waiting_ = true;    // for a handshake, a request or its turn
  bool is_given_up_ = false;  // the slot
};

}  // namespace

void ServeConnection(AnyStream stream, ConnectionContext context) {
  const HttpConnection::Options options = OptionsFor(context);
  const auto connection =
      std::make_shared<HttpConnection>(std::move(stream), std::move(context), options);
  std::make_shared<HttpSession>(connection)->Start();
}

}  // namespace runnel::server
