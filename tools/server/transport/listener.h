// Accepts connections, admits them and has each served. Includes Boost.Asio, which compiles
// slowly: include this header in few files.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_LISTENER_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_LISTENER_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "tools/network/any_stream.h"
#include "tools/server/resources/replaceable.h"
#include "tools/server/session/connection_context.h"
#include "tools/server/transport/acceptor.h"

namespace runnel::server {

// Used by one thread at a time. All pointers must outlive it.
class Listener {
 public:
  // Serves a connection to its end; returns at once. Called on the stream's strand. A connection
  // with a `refusal` exceeds a limit.
  using Serve = std::function<void(AnyStream stream, ConnectionContext context)>;

  // Opens the port, as Acceptor does. `tls` is null for plain TCP; a connection has the context of
  // its acceptance.
  Listener(boost::asio::io_context* io, const std::string& address, uint16_t port,
           const Replaceable<boost::asio::ssl::context>* tls, const ConnectionServices* services,
           Serve serve);

  // Begins to accept connections.
  void Start() { acceptor_.Start(); }

  uint16_t port() const { return acceptor_.port(); }

 private:
  using Clock = std::chrono::steady_clock;

  void OnAccept(boost::asio::ip::tcp::socket socket);
  void ServeAt(Clock::time_point start, boost::asio::ip::tcp::socket socket,
               ConnectionContext context);

  Acceptor acceptor_;
  const Replaceable<boost::asio::ssl::context>* const tls_;
  const ConnectionServices* const services_;
  const Serve serve_;
  const std::string prefix_;  // of connection ids; differs between processes
  int64_t num_accepted_ = 0;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_LISTENER_H_
