#include "runtime/snapshot/sha256.h"

namespace runnel {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

Sha256& Sha256::Add(const void* bytes, size_t count) {
  state_.Add(bytes, count);
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
  const auto bytes = state_.Finish();
  static_assert(sizeof(bytes) == kSize);
  return {bytes.begin(), bytes.end()};
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
