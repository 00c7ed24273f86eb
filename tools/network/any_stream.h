// A TCP connection with or without TLS as one type. Buffers and completion handlers are erased to
// one type each, so that what is built upon it (HTTP, WebSocket) is compiled once, and without the
// code below it.
#ifndef RUNNEL_TOOLS_NETWORK_ANY_STREAM_H_
#define RUNNEL_TOOLS_NETWORK_ANY_STREAM_H_

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace runnel {

namespace net = boost::asio;
namespace beast = boost::beast;
using SystemError = boost::system::error_code;

// Meets the requirements of Boost.Beast's AsyncStream and of the lowest layer of a
// websocket::stream. Used on one strand, the socket's executor, which also calls every handler.
class AnyStream {
 public:
  using executor_type = beast::tcp_stream::executor_type;

  // Without TLS when `tls` is null. With TLS, async_handshake comes first. The stream needs `tls`
  // in the constructor only.
  AnyStream(net::ip::tcp::socket socket, net::ssl::context* tls);
  AnyStream(AnyStream&& other) noexcept;
  ~AnyStream();

  bool has_tls() const { return tls_ != nullptr; }
  beast::tcp_stream& tcp();
  executor_type get_executor() { return tcp().get_executor(); }

  // With TLS, of a client: tells the server which host it means. The certificate must be of that
  // host when the context verifies it.
  void SetHost(const std::string& host);

  // With TLS.
  template <typename Handler>
  void async_handshake(net::ssl::stream_base::handshake_type side, Handler&& handler) {
    Handshake(side, Share<SystemError>(std::forward<Handler>(handler)));
  }

  // Both transfer at most the first kMaxBuffers buffers that are not empty.
  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    ReadSome(List<net::mutable_buffer>(buffers),
             Share<SystemError, size_t>(std::forward<Handler>(handler)));
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    WriteSome(List<net::const_buffer>(buffers),
              Share<SystemError, size_t>(std::forward<Handler>(handler)));
  }

  // `keeps_read` is asked when a read meets the end of what the peer sends. When it returns true,
  // the read goes on until EndRead, and the stream above can still write. Once, before any read.
  void OnEnd(std::function<bool()> keeps_read) { keeps_read_ = std::move(keeps_read); }
  // The read that went on ends with end of file. No effect without one.
  void EndRead() { EndRead(net::error::eof); }

  // Whether the connection has failed, or is closed in both directions, as far as the system knows.
  bool IsLost();

  // Calls the handler when the connection has failed or is closed in both directions, also while
  // nothing is read. Urgent data counts as a failure: the protocols here have none. Once at a time.
  template <typename Handler>
  void async_wait_for_loss(Handler&& handler) {
    WaitForLoss(Share<SystemError>(std::forward<Handler>(handler)));
  }

  // Closes at once. Operations under way end with an error.
  void Close();

  // Called by websocket::stream at the end of a WebSocket. TLS sends its closing message first.
  template <typename Handler>
  friend void async_teardown(beast::role_type role, AnyStream& stream, Handler&& handler) {
    stream.TearDown(role, Share<SystemError>(std::forward<Handler>(handler)));
  }
  friend void beast_close_socket(AnyStream& stream) { stream.Close(); }

 private:
  struct TlsStream;
  static constexpr size_t kMaxBuffers = 16;
  template <typename Buffer>
  using BufferList = boost::container::static_vector<Buffer, kMaxBuffers>;

  template <typename Buffer, typename Buffers>
  static BufferList<Buffer> List(const Buffers& buffers) {
    BufferList<Buffer> list;
    const auto end = net::buffer_sequence_end(buffers);
    for (auto it = net::buffer_sequence_begin(buffers); it != end; ++it) {
      const Buffer buffer = *it;
      if (buffer.size() == 0) continue;
      list.push_back(buffer);
      if (list.size() == kMaxBuffers) break;
    }
    return list;
  }

  // A std::function of a handler, which may be moved but not copied.
  template <typename... Results, typename Handler>
  static std::function<void(Results...)> Share(Handler&& handler) {
    return [shared = std::make_shared<std::decay_t<Handler>>(std::forward<Handler>(handler))](
               Results... results) { std::move (*shared)(results...); };
  }

  void Handshake(net::ssl::stream_base::handshake_type side,
                 std::function<void(SystemError)> handler);
  void ReadSome(const BufferList<net::mutable_buffer>& buffers,
                std::function<void(SystemError, size_t)> handler);
  void WriteSome(const BufferList<net::const_buffer>& buffers,
                 std::function<void(SystemError, size_t)> handler);
  void WaitForLoss(std::function<void(SystemError)> handler);
  void EndRead(SystemError error);
  void TearDown(beast::role_type role, std::function<void(SystemError)> handler);

  std::unique_ptr<beast::tcp_stream> tcp_;  // exactly one of the two is set
  std::unique_ptr<TlsStream> tls_;
  std::function<bool()> keeps_read_;
  std::function<void(SystemError, size_t)> kept_read_;  // met the end, and goes on
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_NETWORK_ANY_STREAM_H_
