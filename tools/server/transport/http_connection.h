// One client's HTTP connection: sends replies, discards input, and closes without losing a reply.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_CONNECTION_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_CONNECTION_H_

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tools/network/any_stream.h"
#include "tools/server/session/connection_context.h"
#include "tools/server/transport/http_reply.h"

namespace runnel::server {

// Every reply has the header X-Request-Id: the id of the connection and the number of the reply.
// All methods on the stream's strand. The object lives while an operation is under way or its owner
// holds it.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  using Clock = std::chrono::steady_clock;
  using Done = std::function<void(const SystemError& error)>;

  struct Options {
    size_t max_buffer_bytes = size_t{32} << 10;
    Clock::duration send_timeout{};  // for one reply
    // How long a client may still send after the last reply.
    Clock::duration linger_time{};
  };

  struct ReplyOptions {
    bool keeps_alive = false;  // false: announces that the connection ends
    bool omits_body = false;   // the reply to HEAD
  };

  enum class InputEnd {
    kClosed,  // the client sends nothing more, but may still read
    kBroken   // the connection is lost, or the client sent too much
  };

  HttpConnection(AnyStream stream, ConnectionContext context, Options options);

  AnyStream& stream() { return stream_; }
  beast::flat_buffer& buffer() { return buffer_; }
  ConnectionContext& context() { return context_; }

  // The page that may read the replies from now on (CORS); "": none beside the server's own.
  void SetReader(std::string origin) { reader_ = std::move(origin); }

  // Replies are for a client of this version of HTTP from now on: 10 or 11.
  void SetVersion(unsigned version) { version_ = version; }
  bool is_http10() const { return version_ < 11; }

  // One of these at a time. `done` is called once. A reply with an error gets a line in the log.
  void SendReply(HttpReply reply, ReplyOptions options, Done done);
  // The interim response "100 Continue". Not to HTTP/1.0.
  void SendContinue(Done done);
  // A last reply in pieces: its header without its body, then the pieces, then its end with the
  // headers that were not known before. The pieces are chunks, and the headers trailers. HTTP/1.0
  // has neither: there the end of the connection ends the reply.
  void SendHeader(const HttpReply& reply, Done done);
  void SendPiece(std::string piece, Done done);
  void SendEnd(const HttpReply& reply, Done done);

  // From now on reads and drops whatever the client sends. Nothing else may read the stream.
  // `on_end` is called once, unless Close or CloseAfterReply is called before.
  void DiscardInput(std::function<void(InputEnd end)> on_end);

  // Calls `on_loss` when a client is lost that has closed its side. A write shows that.
  void WatchForLoss(std::function<void()> on_loss);

  // Ends sending, with the closing message of TLS, then discards input until the client closes too
  // or linger_time is over, and closes the stream. Closing at once could destroy a reply that the
  // client has not read. `held` is released when the stream is closed.
  void CloseAfterReply(std::shared_ptr<void> held = nullptr);

  // Closes at once. Operations under way end with an error.
  void Close();

 private:
  enum class Input { kUnread, kDiscarding, kEnding, kEnded };

  // Fills response_ but for its body.
  void MakeHeader(const HttpReply& reply, ReplyOptions options);
  void Discard();
  void OnDiscarded(const SystemError& error, size_t count);
  // Sends the closing message of TLS and waits for the client's. Nothing may read the stream.
  void EndTls();
  // Discards what a client sends after TLS has ended, still encrypted; then closes.
  void DiscardBelowTls();

  AnyStream stream_;
  ConnectionContext context_;
  const Options options_;
  beast::flat_buffer buffer_;
  std::optional<beast::http::response<beast::http::string_body>> response_;
  std::optional<beast::http::response_serializer<beast::http::string_body>> header_writer_;
  std::string piece_;  // is being sent
  beast::http::fields trailers_;
  unsigned version_ = 11;
  std::string reader_;
  int64_t num_replies_ = 0;
  net::steady_timer linger_timer_;
  std::shared_ptr<void> held_;

  Input input_ = Input::kUnread;
  std::function<void(InputEnd end)> on_input_end_;
  size_t num_discarded_ = 0;  // bytes
  std::array<char, 16384> discarded_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_CONNECTION_H_
