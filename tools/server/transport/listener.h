// Accepts connections and hands each to a session of its own.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this). Includes Boost.Asio: for few
// files.
#ifndef RUNNEL_TOOLS_SERVER_LISTENER_H_
#define RUNNEL_TOOLS_SERVER_LISTENER_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <string>

#include "tools/server/connection_context.h"

namespace runnel::server {

// One thread at a time. Everything given outlives it.
class Listener {
 public:
  // Listens at once. `tls`: null without. Throws std::runtime_error naming address and port.
  Listener(boost::asio::io_context* io, const std::string& address, uint16_t port,
           boost::asio::ssl::context* tls, const ConnectionServices* services);

  void Start();

  uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void Accept();
  void OnAccept(boost::asio::ip::tcp::socket socket);

  boost::asio::io_context* const io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_timer_;
  boost::asio::ssl::context* const tls_;
  const ConnectionServices* const services_;
  const std::string prefix_;  // of connection ids, unlike that of any other process
  int64_t num_accepted_ = 0;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_LISTENER_H_
