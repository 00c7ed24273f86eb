// Listens on a port and accepts its connections, also while descriptors are scarce.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_ACCEPTOR_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_ACCEPTOR_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace runnel::server {

// As NormalAddress (access.h); "" when the peer has reset the connection.
std::string PeerAddress(const boost::asio::ip::tcp::socket& socket);

// Used by one thread at a time. After a failed accept, for example without a free descriptor, it
// tries again ten times a second, and logs one line in ten seconds. It keeps a spare descriptor,
// which lets a connection in when no other is left.
class Acceptor {
 public:
  // Called for each connection, whose socket has a strand of its own as executor.
  using OnSocket = std::function<void(boost::asio::ip::tcp::socket socket)>;

  // Opens the port. Throws std::runtime_error naming address and port, std::invalid_argument when
  // `address` is not an IP address. `io` must outlive the acceptor.
  Acceptor(boost::asio::io_context* io, const std::string& address, uint16_t port,
           OnSocket on_socket);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Begins to accept connections.
  void Start();

  uint16_t port() const { return acceptor_.local_endpoint().port(); }

 private:
  void Accept();
  void OnFailure(const std::string& message);
  void TakeSpare();
  bool ReleaseSpare();

  boost::asio::io_context* const io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  const OnSocket on_socket_;
  boost::asio::steady_timer retry_timer_;
  int spare_ = -1;
  // Handlers that come after the end of this object see that it is gone.
  struct Alive {};
  const std::shared_ptr<Alive> alive_ = std::make_shared<Alive>();
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_ACCEPTOR_H_
