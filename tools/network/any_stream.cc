#include "tools/network/any_stream.h"

#include <openssl/ssl.h>
#include <poll.h>

#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <utility>

namespace runnel {
namespace {

// What of `asked` poll(2) reports at once. It reports failures unasked.
int Events(net::ip::tcp::socket& socket, int asked) {
  pollfd entry{socket.native_handle(), static_cast<int16_t>(asked), 0};
  return ::poll(&entry, 1, /*timeout=*/0) > 0 ? entry.revents : 0;
}

// Whether the peer sends nothing more. With TLS, it may not have said so.
bool IsEnd(const SystemError& error) {
  return error == net::error::eof || error == net::ssl::error::stream_truncated;
}

}  // namespace

struct AnyStream::TlsStream {
  TlsStream(net::ip::tcp::socket socket, net::ssl::context& context)
      : stream(std::move(socket), context) {}
  beast::ssl_stream<beast::tcp_stream> stream;
};

AnyStream::AnyStream(net::ip::tcp::socket socket, net::ssl::context* tls) {
  if (tls == nullptr) {
    tcp_ = std::make_unique<beast::tcp_stream>(std::move(socket));
  } else {
    tls_ = std::make_unique<TlsStream>(std::move(socket), *tls);
  }
}

AnyStream::AnyStream(AnyStream&& other) noexcept = default;
AnyStream::~AnyStream() = default;

beast::tcp_stream& AnyStream::tcp() { return has_tls() ? tls_->stream.next_layer() : *tcp_; }

void AnyStream::SetHost(const std::string& host) {
  SSL_set_tlsext_host_name(tls_->stream.native_handle(), host.c_str());
  tls_->stream.set_verify_callback(net::ssl::host_name_verification(host));
}

void AnyStream::Handshake(net::ssl::stream_base::handshake_type side,
                          std::function<void(SystemError)> handler) {
  tls_->stream.async_handshake(side, std::move(handler));
}

void AnyStream::ReadSome(const BufferList<net::mutable_buffer>& buffers,
                         std::function<void(SystemError, size_t)> handler) {
  if (keeps_read_) {
    handler = [this, inner = std::move(handler)](SystemError error, size_t count) mutable {
      if (!IsEnd(error) || !keeps_read_()) return inner(error, count);
      kept_read_ = std::move(inner);
    };
  }
  if (has_tls()) return tls_->stream.async_read_some(buffers, std::move(handler));
  tcp_->async_read_some(buffers, std::move(handler));
}

void AnyStream::EndRead(SystemError error) {
  if (!kept_read_) return;
  net::post(get_executor(),
            [handler = std::exchange(kept_read_, nullptr), error] { handler(error, 0); });
}

void AnyStream::WriteSome(const BufferList<net::const_buffer>& buffers,
                          std::function<void(SystemError, size_t)> handler) {
  if (has_tls()) return tls_->stream.async_write_some(buffers, std::move(handler));
  tcp_->async_write_some(buffers, std::move(handler));
}

void AnyStream::WaitForLoss(std::function<void(SystemError)> handler) {
  // Asio can take an event of a socket that was just closed for one of a socket opened after it.
  auto check = [this, handler = std::move(handler)](SystemError error) mutable {
    const bool is_lost = error || Events(tcp().socket(), POLLPRI) != 0;
    is_lost ? handler(error) : WaitForLoss(std::move(handler));
  };
  tcp().socket().async_wait(net::ip::tcp::socket::wait_error, std::move(check));
}

bool AnyStream::IsLost() { return (Events(tcp().socket(), 0) & (POLLHUP | POLLERR)) != 0; }

void AnyStream::Close() {
  SystemError ignored;
  tcp().socket().close(ignored);
  EndRead(net::error::operation_aborted);
}

void AnyStream::TearDown(beast::role_type role, std::function<void(SystemError)> handler) {
  using beast::websocket::async_teardown;
  if (has_tls()) return async_teardown(role, tls_->stream, std::move(handler));
  async_teardown(role, *tcp_, std::move(handler));
}

}  // namespace runnel
