// The server's certificate and what it accepts of TLS.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this). Includes Boost.Asio: for few
// files.
#ifndef RUNNEL_TOOLS_SERVER_TLS_H_
#define RUNNEL_TOOLS_SERVER_TLS_H_

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

namespace runnel::server {

// TLS 1.2 and later. `certificate`: PEM, the server's first, then those between it and the root.
// Throws std::runtime_error naming the file that cannot be used.
std::unique_ptr<boost::asio::ssl::context> MakeTlsContext(const std::string& certificate,
                                                          const std::string& key);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TLS_H_
