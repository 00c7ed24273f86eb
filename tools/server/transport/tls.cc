#include "tools/server/transport/tls.h"

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <boost/asio/ssl/error.hpp>
#include <boost/system/error_code.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <utility>

namespace runnel::server {

namespace ssl = boost::asio::ssl;

namespace {

// OpenSSL's errors do not say why a file cannot be opened.
void CheckReadable(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error(path + ": " + std::strerror(errno));
  std::fclose(file);
}

ssl::context MakeContext(const std::string& certificate, const std::string& key) {
  ssl::context context(ssl::context::tls_server);
  context.set_options(ssl::context::default_workarounds | ssl::context::no_sslv2 |
                      ssl::context::no_sslv3 | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1 |
                      ssl::context::single_dh_use);
  boost::system::error_code error;
  CheckReadable(certificate);
  CheckReadable(key);
  bool is_encrypted = false;  // a server starts unattended and cannot ask for a passphrase
  context.set_password_callback(
      [&is_encrypted](size_t /*max_length*/, ssl::context::password_purpose /*purpose*/) {
        is_encrypted = true;
        return std::string();
      });
  context.use_certificate_chain_file(certificate, error);
  if (error)
    throw std::runtime_error(certificate +
                             ": cannot be read as a certificate in PEM: " + error.message());
  context.use_private_key_file(key, ssl::context::pem, error);
  context.set_password_callback(
      [](size_t /*max_length*/, ssl::context::password_purpose /*purpose*/) {
        return std::string();
      });
  if (is_encrypted) {
    throw std::runtime_error(key + ": the key is encrypted, expected one without a passphrase");
  }
  if (!error && SSL_CTX_check_private_key(context.native_handle()) != 1) {
    error.assign(static_cast<int>(ERR_get_error()), boost::asio::error::get_ssl_category());
  }
  if (error) {
    throw std::runtime_error(key + ": no private key in PEM for the certificate " + certificate +
                             ": " + error.message());
  }
  return context;
}

// gRPC's clients use TLS only for a server that chooses HTTP/2 in its handshake (ALPN, RFC 7301).
// The choice must outlive the call.
int ChooseHttp2(SSL* /*tls*/, const unsigned char** chosen, unsigned char* chosen_size,
                const unsigned char* offered, unsigned offered_size, void* /*unused*/) {
  static constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, chosen_size, kHttp2.data(), kHttp2.size(),
                                           offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

ssl::context ForHttp2(ssl::context context) {
  SSL_CTX_set_alpn_select_cb(context.native_handle(), &ChooseHttp2, nullptr);
  return context;
}

}  // namespace

ServerTls::ServerTls(std::string certificate, std::string key)
    : certificate_(std::move(certificate)),
      key_(std::move(key)),
      http_(MakeContext(certificate_, key_)),
      grpc_(ForHttp2(MakeContext(certificate_, key_))) {}

void ServerTls::Reload() {
  ssl::context http = MakeContext(certificate_, key_);
  ssl::context grpc = ForHttp2(MakeContext(certificate_, key_));
  http_.Set(std::move(http));
  grpc_.Set(std::move(grpc));
}

int64_t ServerTls::expiry() const {
  const auto context = http_.Get();  // has the certificate
  const X509* certificate = SSL_CTX_get0_certificate(context->native_handle());
  std::tm time{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) != 1) return 0;
  return ::timegm(&time);
}

}  // namespace runnel::server
