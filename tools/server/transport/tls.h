// The server's TLS settings and certificate.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_TLS_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_TLS_H_

#include <boost/asio/ssl/context.hpp>
#include <cstdint>
#include <string>

#include "tools/server/resources/replaceable.h"

namespace runnel::server {

// The TLS contexts of the ports, all of one certificate. They accept TLS 1.2 and later.
class ServerTls {
 public:
  using Context = Replaceable<boost::asio::ssl::context>;

  // `certificate` is the path of a PEM file: the server's certificate, then the intermediate ones.
  // `key` is the path of the private key in PEM. Throws std::runtime_error naming the file that
  // cannot be used.
  ServerTls(std::string certificate, std::string key);

  // Reads the files again, for the connections that begin from now on. Throws as the constructor
  // does, and changes nothing then. One call at a time.
  void Reload();

  const Context& http() const { return http_; }
  // Its clients must choose HTTP/2 in the handshake.
  const Context& grpc() const { return grpc_; }

  // When the server's certificate expires, in seconds since 1970.
  int64_t expiry() const;

 private:
  const std::string certificate_;
  const std::string key_;
  Context http_;
  Context grpc_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_TLS_H_
