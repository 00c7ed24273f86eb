#include "tools/server/transport/tls.h"

#include <boost/system/error_code.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace runnel::server {

namespace ssl = boost::asio::ssl;

namespace {

// OpenSSL's errors do not say why a file cannot be opened.
void CheckReadable(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error(path + ": " + std::strerror(errno));
  std::fclose(file);
}

}  // namespace

std::unique_ptr<ssl::context> MakeTlsContext(const std::string& certificate,
                                             const std::string& key) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  context->set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                       ssl::context::no_sslv3 | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 |
                       ssl::context::single_dh_use);
  boost::system::error_code error;
  CheckReadable(certificate);
  CheckReadable(key);
  bool is_encrypted = false;  // a server starts unattended and cannot ask for a passphrase
  context->set_password_callback(
      [&is_encrypted](size_t /*max_length*/, ssl::context::password_purpose /*purpose*/) {
        is_encrypted = true;
        return std::string();
      });
  context->use_certificate_chain_file(certificate, error);
  if (error)
    throw std::runtime_error(certificate +
                             ": cannot be read as a certificate in PEM: " + error.message());
  context->use_private_key_file(key, ssl::context::pem, error);
  context->set_password_callback(
      [](size_t /*max_length*/, ssl::context::password_purpose /*purpose*/) {
        return std::string();
      });
  if (is_encrypted) {
    throw std::runtime_error(key + ": the key is encrypted, expected one without a passphrase");
  }
  if (error) {
    throw std::runtime_error(key + ": no private key in PEM for the certificate " + certificate +
                             ": " + error.message());
  }
  return context;
}

}  // namespace runnel::server
