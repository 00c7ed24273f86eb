// The port of --admin_port: health and metrics, apart from everything that clients can keep busy.
#ifndef RUNNEL_TOOLS_SERVER_CONTROL_ADMIN_PORT_H_
#define RUNNEL_TOOLS_SERVER_CONTROL_ADMIN_PORT_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "tools/server/transport/acceptor.h"
#include "tools/server/transport/http_reply.h"

namespace runnel::server {

// HTTP without TLS and tokens. Each connection has one request and a few seconds. Connections need
// no slots: when kMostConnections are open, the oldest of the address that has most makes room.
// Used by one thread.
class AdminPort {
 public:
  static constexpr size_t kMostConnections = 32;

  // The reply to a request; `method` and `target` as for Answer.
  using Answerer = std::function<HttpReply(std::string_view method, std::string_view target)>;

  // Opens the port, as Acceptor does. `io` must outlive it.
  AdminPort(boost::asio::io_context* io, const std::string& address, uint16_t port,
            Answerer answer);
  // Closes the connections. The Answerer is not called any more.
  ~AdminPort();

  // Begins to accept connections.
  void Start() { acceptor_.Start(); }

  uint16_t port() const { return acceptor_.port(); }

 private:
  class Connection;

  struct Open {
    std::string account;
    std::weak_ptr<Connection> connection;
  };

  void Serve(boost::asio::ip::tcp::socket socket);
  void MakeRoom();

  Acceptor acceptor_;
  const Answerer answer_;
  std::list<Open> connections_;  // the oldest first
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_CONTROL_ADMIN_PORT_H_
