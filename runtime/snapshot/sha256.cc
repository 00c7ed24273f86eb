#include "runtime/snapshot/sha256.h"

#include <openssl/evp.h>

#include <stdexcept>

namespace runnel {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

void Check(int result) {
  if (result != 1) throw std::runtime_error("OpenSSL cannot compute SHA-256");
}

}  // namespace

void Sha256::Deleter::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  Check(context_ == nullptr ? 0 : EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr));
}

Sha256& Sha256::Add(const void* bytes, size_t count) {
  Check(EVP_DigestUpdate(context_.get(), bytes, count));
  return *this;
}

Sha256& Sha256::AddNumber(int64_t number) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) {
    bytes[i] = static_cast<unsigned char>(static_cast<uint64_t>(number) >> (8 * i));
  }
  return Add(bytes, sizeof(bytes));
}

Sha256& Sha256::AddText(std::string_view text) {
  return AddNumber(static_cast<int64_t>(text.size())).Add(text.data(), text.size());
}

std::string Sha256::Bytes() {
  unsigned char bytes[kSize];
  Check(EVP_DigestFinal_ex(context_.get(), bytes, nullptr));
  return {bytes, bytes + kSize};
}

std::string Sha256::Fingerprint() {
  std::string text;
  for (const char c : Bytes().substr(0, kSize / 2)) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

bool Sha256::IsFingerprint(std::string_view text) {
  return text.size() == kSize && text.find_first_not_of(kDigits) == text.npos;
}

}  // namespace runnel
