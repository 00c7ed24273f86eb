// A TCP connection with or without TLS as one type, so that its users are compiled once. Includes
// Boost.Beast, which compiles slowly: include this header in few files.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_ANY_STREAM_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_ANY_STREAM_H_

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace runnel::server {

namespace net = boost::asio;
namespace beast = boost::beast;
using SystemError = boost::system::error_code;

// Meets the requirements of Boost.Beast's AsyncStream and of the lowest layer of a
// websocket::stream. Used on one strand, the socket's executor.
class AnyStream {
 public:
  using TlsStream = beast::ssl_stream<beast::tcp_stream>;
  using executor_type = beast::tcp_stream::executor_type;

  // Without TLS when `tls` is null. With TLS, async_handshake comes first. `tls` must outlive the
  // stream.
  AnyStream(net::ip::tcp::socket socket, net::ssl::context* tls) {
    if (tls == nullptr) {
      tcp_ = std::make_unique<beast::tcp_stream>(std::move(socket));
    } else {
      tls_ = std::make_unique<TlsStream>(std::move(socket), *tls);
    }
  }

  bool has_tls() const { return tls_ != nullptr; }
  beast::tcp_stream& tcp() { return has_tls() ? tls_->next_layer() : *tcp_; }
  executor_type get_executor() { return tcp().get_executor(); }

  template <typename Handler>
  void async_handshake(Handler&& handler) {
    tls_->async_handshake(net::ssl::stream_base::server, std::forward<Handler>(handler));
  }

  template <typename Buffers, typename Handler>
  auto async_read_some(const Buffers& buffers, Handler&& handler) {
    if (has_tls()) return tls_->async_read_some(buffers, std::forward<Handler>(handler));
    return tcp_->async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler>
  auto async_write_some(const Buffers& buffers, Handler&& handler) {
    if (has_tls()) return tls_->async_write_some(buffers, std::forward<Handler>(handler));
    return tcp_->async_write_some(buffers, std::forward<Handler>(handler));
  }

  // Closes at once. Operations under way end with an error.
  void Close() {
    SystemError ignored;
    tcp().socket().close(ignored);
  }

  // Called by websocket::stream at the end of a WebSocket. TLS sends its closing message first.
  template <typename Handler>
  friend void async_teardown(beast::role_type role, AnyStream& stream, Handler&& handler) {
    using beast::websocket::async_teardown;
    if (stream.has_tls()) return async_teardown(role, *stream.tls_, std::forward<Handler>(handler));
    async_teardown(role, *stream.tcp_, std::forward<Handler>(handler));
  }
  friend void beast_close_socket(AnyStream& stream) { stream.Close(); }

 private:
  std::unique_ptr<beast::tcp_stream> tcp_;  // exactly one of the two is set
  std::unique_ptr<TlsStream> tls_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_ANY_STREAM_H_
