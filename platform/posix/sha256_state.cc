#include "platform/sha256_state.h"

#include <openssl/evp.h>

#include <stdexcept>

namespace runnel {
namespace {

void Check(int result) {
  if (result != 1) throw std::runtime_error("OpenSSL cannot compute SHA-256");
}

}  // namespace

class Sha256State::Context {
 public:
  Context() : context_(EVP_MD_CTX_new()) {
    Check(context_ == nullptr ? 0 : EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
  }

  EVP_MD_CTX* get() { return context_.get(); }

 private:
  struct Deleter {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Deleter> context_;
};

Sha256State::Sha256State() : context_(std::make_unique<Context>()) {}
Sha256State::~Sha256State() = default;
Sha256State::Sha256State(Sha256State&&) noexcept = default;
Sha256State& Sha256State::operator=(Sha256State&&) noexcept = default;

void Sha256State::Add(const void* bytes, size_t count) {
  Check(EVP_DigestUpdate(context_->get(), bytes, count));
}

std::array<unsigned char, 32> Sha256State::Finish() {
  std::array<unsigned char, 32> bytes;
  Check(EVP_DigestFinal_ex(context_->get(), bytes.data(), nullptr));
  return bytes;
}

}  // namespace runnel
