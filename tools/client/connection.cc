#include "tools/client/connection.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/field.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tools/cli/decimal.h"
#include "tools/cli/seconds.h"
#include "tools/client/client_protocol.h"
#include "tools/network/any_stream.h"

namespace runnel::client {
namespace {

namespace http = beast::http;
namespace websocket = beast::websocket;
using boost::system::error_code;

constexpr size_t kWriteBufferSize = 16384;  // so that a packet is masked and sent in one piece
constexpr size_t kMaxReadSize = 16 << 20;   // enough for the n-best list of hours

// WebSocket close codes after which another try would fail in the same way.
bool IsFinalCloseCode(uint16_t code) {
  return code == websocket::close_code::protocol_error ||
         code == websocket::close_code::unknown_data ||
         code == websocket::close_code::bad_payload ||
         code == websocket::close_code::policy_error || code == websocket::close_code::too_big;
}

bool IsFinalStatus(unsigned status) { return status < 500 && status != 429 && status != 408; }

struct OutgoingMessage {
  bool is_text;
  std::string bytes;
};

class WebSocketConnection final : public Connection,
                                  public std::enable_shared_from_this<WebSocketConnection> {
 public:
  WebSocketConnection(net::io_context* context, net::ssl::context* tls, const ServerUrl& url,
                      const ConnectorOptions& options, ConnectionListener* listener)
      : url_(url),
        options_(options),
        listener_(listener),
        resolver_(*context),
        stream_(net::ip::tcp::socket(*context), tls) {}

  void Start() {
    Lowest().expires_after(Seconds(options_.timeout_s));
    resolver_.async_resolve(
        url_.host, std::to_string(url_.port),
        [self = shared_from_this()](const error_code& error,
                                    const net::ip::tcp::resolver::results_type& found) {
          if (error) return self->Fail("network", "cannot find the host", error);
          self->ConnectTo(found);
        });
  }

  void SendText(std::string message) override { Enqueue({true, std::move(message)}); }
  void SendBinary(std::string message) override { Enqueue({false, std::move(message)}); }

  void Close() override {
    listener_ = nullptr;
    if (!is_open_) return Abort();
    is_closing_ = true;
    if (!is_writing_) WriteNext();
  }

  void Abort() override {
    listener_ = nullptr;
    is_open_ = false;
    resolver_.cancel();
    error_code ignored;
    Lowest().socket().close(ignored);
  }

 private:
  beast::tcp_stream& Lowest() { return stream_.next_layer().tcp(); }

  void ConnectTo(const net::ip::tcp::resolver::results_type& found) {
    if (listener_ == nullptr) return;
    Lowest().async_connect(found,
                           [self = shared_from_this()](const error_code& error,
                                                       const net::ip::tcp::endpoint& /*endpoint*/) {
                             if (error) return self->FailToConnect(error);
                             self->OnConnected();
                           });
  }

  void OnConnected() {
    if (listener_ == nullptr) return;
    error_code ignored;
    Lowest().socket().set_option(net::ip::tcp::no_delay(true), ignored);
    AnyStream& stream = stream_.next_layer();
    if (!stream.has_tls()) return Upgrade();
    stream.SetHost(url_.host);
    stream.async_handshake(net::ssl::stream_base::client,
                           [self = shared_from_this()](const error_code& error) {
                             if (error) return self->Fail("tls", "TLS handshake failed", error);
                             self->Upgrade();
                           });
  }

  void Upgrade() {
    if (listener_ == nullptr) return;
    Lowest().expires_never();  // the WebSocket layer has its own timeouts
    websocket::stream_base::timeout timeouts{};
    timeouts.handshake_timeout = Seconds(options_.timeout_s);
    timeouts.idle_timeout = Seconds(options_.timeout_s);
    timeouts.keep_alive_pings = true;
    stream_.set_option(timeouts);
    stream_.set_option(websocket::stream_base::decorator([this](websocket::request_type& request) {
      request.set(http::field::user_agent, "runnel-client");
      if (!options_.bearer_token.empty()) {
        request.set(http::field::authorization, "Bearer " + options_.bearer_token);
      }
    }));
    stream_.secure_prng(false);  // masks protect proxies from scripts in browsers only
    stream_.auto_fragment(false);
    stream_.write_buffer_bytes(kWriteBufferSize);
    stream_.read_message_max(kMaxReadSize);
    stream_.async_handshake(response_, url_.Authority(), url_.target,
                            [self = shared_from_this()](const error_code& error) {
                              if (error) return self->FailToUpgrade(error);
                              self->OnUpgraded();
                            });
  }

  void OnUpgraded() {
    if (listener_ == nullptr) return Abort();
    is_open_ = true;
    ReadNext();
    listener_->OnOpen();
  }

  void ReadNext() {
    stream_.async_read(incoming_,
                       [self = shared_from_this()](const error_code& error, size_t /*size*/) {
                         if (error) return self->FailToRead(error);
                         self->OnRead();
                       });
  }

  void OnRead() {
    if (listener_ != nullptr) {
      listener_->OnMessage({static_cast<const char*>(incoming_.data().data()), incoming_.size()});
    }
    incoming_.consume(incoming_.size());
    // The closing handshake needs a pending read.
    if (listener_ != nullptr || is_closing_) ReadNext();
  }

  void Enqueue(OutgoingMessage message) {
    outgoing_.push_back(std::move(message));
    if (is_open_ && !is_writing_) WriteNext();
  }

  void WriteNext() {
    if (outgoing_.empty()) {
      if (is_closing_ && std::exchange(is_open_, false)) {
        stream_.async_close(
            websocket::close_code::normal,
            [self = shared_from_this()](const error_code& /*error*/) { self->Abort(); });
      }
      return;
    }
    is_writing_ = true;
    const OutgoingMessage& message = outgoing_.front();
    stream_.text(message.is_text);
    stream_.async_write(net::buffer(message.bytes),
                        [self = shared_from_this()](const error_code& error, size_t /*size*/) {
                          self->OnWritten(error);
                        });
  }

  void OnWritten(const error_code& error) {
    is_writing_ = false;
    // The reader reports the reason, since the last message of the server is still to be read.
    if (error) return;
    outgoing_.pop_front();
    if (!outgoing_.empty() || is_closing_) return WriteNext();
    if (listener_ != nullptr) listener_->OnSent();
  }

  void FailToConnect(const error_code& error) {
    if (error == net::error::connection_refused) {
      return End({"refused", "connection refused", true});
    }
    Fail("network", "cannot connect", error);
  }

  void FailToUpgrade(const error_code& error) {
    if (error != websocket::error::upgrade_declined) {
      return Fail("network", "is no WebSocket server", error);
    }
    const unsigned status = response_.result_int();
    const bool may_be_retried = !IsFinalStatus(status);
    const std::string refusal = "refused with HTTP status " + std::to_string(status);
    if (const std::optional<RefusalBody> body = ReadRefusalBody(response_.body())) {
      return End({body->code, refusal + ": " + body->code + ": " + body->message, may_be_retried});
    }
    End({"http_" + std::to_string(status), refusal, may_be_retried});
  }

  void FailToRead(const error_code& error) {
    if (error != websocket::error::closed) return Fail("network", "connection lost", error);
    const websocket::close_reason& reason = stream_.reason();
    std::string message =
        "the server closed the connection with code " + std::to_string(reason.code);
    if (!reason.reason.empty()) message += " (" + std::string(reason.reason.c_str()) + ")";
    End({"closed_" + std::to_string(reason.code), message, !IsFinalCloseCode(reason.code)});
  }

  void Fail(const std::string& code, const std::string& what, const error_code& error) {
    if (error == beast::error::timeout) {
      return End({"timeout", "no answer for " + Decimal(options_.timeout_s, 1) + " s", true});
    }
    End({code, what + ": " + error.message(), code != "tls"});
  }

  // Ends the connection; no callback follows OnClosed.
  void End(ConnectionEnd end) {
    ConnectionListener* const listener = std::exchange(listener_, nullptr);
    const auto self = shared_from_this();
    Abort();
    if (listener == nullptr) return;
    end.message = url_.Text() + ": " + end.message;
    listener->OnClosed(end);
  }

  const ServerUrl url_;
  const ConnectorOptions options_;
  ConnectionListener* listener_;
  net::ip::tcp::resolver resolver_;
  websocket::stream<AnyStream, /*deflateSupported=*/false> stream_;
  websocket::response_type response_;
  beast::flat_buffer incoming_;
  std::deque<OutgoingMessage> outgoing_;
  bool is_open_ = false;
  bool is_writing_ = false;
  bool is_closing_ = false;
};

}  // namespace

struct Connector::Impl {
  Impl(EventLoop* event_loop, const ConnectorOptions& connector_options)
      : loop(event_loop), options(connector_options), tls(net::ssl::context::tls_client) {
    tls.set_verify_mode(options.is_insecure ? net::ssl::verify_none : net::ssl::verify_peer);
    if (options.is_insecure) return;
    error_code error;
    if (options.ca_file.empty()) {
      tls.set_default_verify_paths(error);
    } else {
      tls.load_verify_file(options.ca_file, error);
    }
    if (error) {
      throw std::runtime_error((options.ca_file.empty() ? "authorities" : options.ca_file) +
                               ": cannot read certificates: " + error.message());
    }
  }

  EventLoop* const loop;
  const ConnectorOptions options;
  net::ssl::context tls;
};

Connector::Connector(EventLoop* loop, const ConnectorOptions& options)
    : impl_(std::make_unique<Impl>(loop, options)) {}
Connector::~Connector() = default;

std::shared_ptr<Connection> Connector::Connect(const ServerUrl& url, ConnectionListener* listener) {
  const auto connection = std::make_shared<WebSocketConnection>(
      &impl_->loop->context(), url.is_tls ? &impl_->tls : nullptr, url, impl_->options, listener);
  connection->Start();
  return connection;
}

}  // namespace runnel::client
