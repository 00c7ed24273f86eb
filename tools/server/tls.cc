#include "tools/server/tls.h"

#include <boost/system/error_code.hpp>
#include <stdexcept>

namespace runnel::server {

namespace ssl = boost::asio::ssl;

std::unique_ptr<ssl::context> MakeTlsContext(const std::string& certificate,
                                             const std::string& key) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  context->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                       ssl::context::no_sslv3 | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 |
                       ssl::context::single_dh_use);
  boost::system::error_code error;
  context->use_certificate_chain_file(certificate, error);
  if (error)
    throw std::runtime_error(certificate +
                             ": cannot be read as a certificate in PEM: " + error.message());
  context->use_private_key_file(key, ssl::context::pem, error);
  if (error) {
    throw std::runtime_error(key + ": no private key in PEM for the certificate " + certificate +
                             ": " + error.message());
  }
  return context;
}

}  // namespace runnel::server
