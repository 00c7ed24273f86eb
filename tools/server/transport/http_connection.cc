#include "tools/server/transport/http_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/write.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "tools/server/resources/rated_log.h"

namespace runnel::server {
namespace {

namespace http = beast::http;

constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
// The most bytes that are discarded.
constexpr size_t kMaxDiscarded = size_t{128} << 20;

}  // namespace

HttpConnection::HttpConnection(AnyStream stream, ConnectionContext context, Options options)
    : stream_(std::move(stream)),
      context_(std::move(context)),
      options_(options),
      buffer_(options.max_buffer_bytes),
      linger_timer_(stream_.get_executor()) {}

void HttpConnection::MakeHeader(const HttpReply& reply, ReplyOptions options) {
  response_.emplace(static_cast<http::status>(reply.status), 11);
  response_->set(http::field::server, "runnel");
  response_->set(http::field::content_type, reply.content_type);
  response_->set("X-Content-Type-Options", "nosniff");
  response_->set("X-Request-Id", context_.id + "-" + std::to_string(++num_replies_));
  if (!reader_.empty()) {
    response_->set(http::field::access_control_allow_origin, reader_);
    response_->set(http::field::access_control_expose_headers,
                   "Retry-After, X-Request-Id, X-Announced-Ms, dg-request-id, dg-error");
    response_->set(http::field::vary, "Origin");
  }
  for (const auto& [name, value] : reply.headers) response_->set(name, value);
  if (response_->find(http::field::cache_control) == response_->end()) {
    response_->set(http::field::cache_control, "no-store");
  }
  response_->keep_alive(options.keeps_alive);
}

void HttpConnection::SendReply(HttpReply reply, ReplyOptions options, Done done) {
  if (reply.error.has_value()) {
    LogRated(LogLevel::kInfo, "refused with " + reply.error->code,
             context_.id + " of " + context_.address + ": " + std::to_string(reply.status) + ", " +
                 reply.error->message);
  }
  MakeHeader(reply, options);
  response_->content_length(reply.body.size());
  if (!options.omits_body) response_->body() = std::move(reply.body);
  stream_.tcp().expires_after(options_.send_timeout);
  http::async_write(stream_, *response_,
                    [self = shared_from_this(), done = std::move(done)](
                        const SystemError& error, size_t /*count*/) { done(error); });
}

void HttpConnection::SendContinue(Done done) {
  net::async_write(stream_, net::buffer(kContinue),
                   [self = shared_from_this(), done = std::move(done)](
                       const SystemError& error, size_t /*count*/) { done(error); });
}

void HttpConnection::SendHeader(const HttpReply& reply, Done done) {
  MakeHeader(reply, {});
  if (!is_http10()) response_->chunked(true);
  header_writer_.emplace(*response_);
  stream_.tcp().expires_after(options_.send_timeout);
  http::async_write_header(stream_, *header_writer_,
                           [self = shared_from_this(), done = std::move(done)](
                               const SystemError& error, size_t /*count*/) { done(error); });
}

void HttpConnection::SendPiece(std::string piece, Done done) {
  piece_ = std::move(piece);
  stream_.tcp().expires_after(options_.send_timeout);
  const auto on_sent = [self = shared_from_this(), done = std::move(done)](
                           const SystemError& error, size_t /*count*/) { done(error); };
  if (is_http10()) {
    net::async_write(stream_, net::buffer(piece_), on_sent);
  } else {
    net::async_write(stream_, http::make_chunk(net::buffer(piece_)), on_sent);
  }
}

void HttpConnection::SendEnd(const HttpReply& reply, Done done) {
  if (is_http10()) return done({});
  trailers_.clear();
  for (const auto& [name, value] : reply.headers) trailers_.insert(name, value);
  stream_.tcp().expires_after(options_.send_timeout);
  net::async_write(stream_, http::make_chunk_last(trailers_),
                   [self = shared_from_this(), done = std::move(done)](
                       const SystemError& error, size_t /*count*/) { done(error); });
}

void HttpConnection::DiscardInput(std::function<void(InputEnd end)> on_end) {
  on_input_end_ = std::move(on_end);
  if (input_ == Input::kUnread) Discard();
}

void HttpConnection::Discard() {
  input_ = Input::kDiscarding;
  stream_.async_read_some(net::buffer(discarded_),
                          [self = shared_from_this()](const SystemError& error, size_t count) {
                            self->OnDiscarded(error, count);
                          });
}

void HttpConnection::OnDiscarded(const SystemError& error, size_t count) {
  num_discarded_ += count;
  if (!error && input_ == Input::kDiscarding && num_discarded_ <= kMaxDiscarded) return Discard();
  input_ = Input::kEnded;
  const auto on_end = std::exchange(on_input_end_, nullptr);
  if (on_end == nullptr) return;
  on_end(error == net::error::eof ? InputEnd::kClosed : InputEnd::kBroken);
}

void HttpConnection::WatchForLoss(std::function<void()> on_loss) {
  stream_.async_wait_for_loss(
      [self = shared_from_this(), on_loss = std::move(on_loss)](const SystemError& error) {
        if (!error) on_loss();
      });
}

void HttpConnection::CloseAfterReply(std::shared_ptr<void> held) {
  held_ = std::move(held);
  if (input_ == Input::kEnded && !stream_.has_tls()) return Close();
  linger_timer_.expires_after(options_.linger_time);
  linger_timer_.async_wait([self = shared_from_this()](const SystemError& stopped) {
    if (!stopped) self->Close();
  });
  stream_.tcp().expires_never();
  if (!stream_.has_tls()) {
    SystemError ignored;
    stream_.tcp().socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
    DiscardInput([this](InputEnd /*end*/) { Close(); });
  } else if (input_ == Input::kDiscarding) {
    // Asio may start two reads of a socket at once when TLS ends beside a read that needs more than
    // one, so the read ends first.
    input_ = Input::kEnding;
    on_input_end_ = [this](InputEnd /*end*/) { EndTls(); };
    stream_.tcp().cancel();
  } else {
    EndTls();
  }
}

void HttpConnection::EndTls() {
  // Ends when the client closes, too. It fails when the client is still sending, because TLS
  // expects nothing after its closing message.
  async_teardown(beast::role_type::server, stream_,
                 [self = shared_from_this()](const SystemError& error) {
                   return error ? self->DiscardBelowTls() : self->Close();
                 });
}

void HttpConnection::DiscardBelowTls() {
  stream_.tcp().socket().async_read_some(
      net::buffer(discarded_), [self = shared_from_this()](const SystemError& error, size_t count) {
        self->num_discarded_ += count;
        if (error || self->num_discarded_ > kMaxDiscarded) return self->Close();
        self->DiscardBelowTls();
      });
}

void HttpConnection::Close() {
  linger_timer_.cancel();
  on_input_end_ = nullptr;
  held_.reset();
  stream_.Close();
}

}  // namespace runnel::server
