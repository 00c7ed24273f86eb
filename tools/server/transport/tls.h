// The server's TLS settings and certificate.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_TLS_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_TLS_H_

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

namespace runnel::server {

// Accepts TLS 1.2 and later. `certificate` is the path of a PEM file: the server's certificate,
// then the intermediate ones. `key` is the path of the private key in PEM. Throws
// std::runtime_error naming the file that cannot be used.
std::unique_ptr<boost::asio::ssl::context> MakeTlsContext(const std::string& certificate,
                                                          const std::string& key);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_TLS_H_
