#include "platform/sha256_state.h"

// clang-format off
#include <windows.h>
#include <bcrypt.h>  // after windows.h
// clang-format on

#include <algorithm>
#include <stdexcept>

namespace runnel {
namespace {

void Check(NTSTATUS status) {
  if (!BCRYPT_SUCCESS(status)) throw std::runtime_error("Windows cannot compute SHA-256");
}

// Opened once and kept: any number of hashes may use it at a time.
BCRYPT_ALG_HANDLE Algorithm() {
  static const BCRYPT_ALG_HANDLE algorithm = [] {
    BCRYPT_ALG_HANDLE opened = nullptr;
    Check(::BCryptOpenAlgorithmProvider(&opened, BCRYPT_SHA256_ALGORITHM, nullptr, 0));
    return opened;
  }();
  return algorithm;
}

}  // namespace

class Sha256State::Context {
 public:
  Context() { Check(::BCryptCreateHash(Algorithm(), &hash_, nullptr, 0, nullptr, 0, 0)); }
  ~Context() { ::BCryptDestroyHash(hash_); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  BCRYPT_HASH_HANDLE get() { return hash_; }

 private:
  BCRYPT_HASH_HANDLE hash_ = nullptr;
};

Sha256State::Sha256State() : context_(std::make_unique<Context>()) {}
Sha256State::~Sha256State() = default;
Sha256State::Sha256State(Sha256State&&) noexcept = default;
Sha256State& Sha256State::operator=(Sha256State&&) noexcept = default;

void Sha256State::Add(const void* bytes, size_t count) {
  constexpr size_t kMost = size_t{1} << 30;  // a call takes 32 bits
  auto* next = static_cast<UCHAR*>(const_cast<void*>(bytes));
  while (count > 0) {
    const size_t part = std::min(count, kMost);
    Check(::BCryptHashData(context_->get(), next, static_cast<ULONG>(part), 0));
    next += part;
    count -= part;
  }
}

std::array<unsigned char, 32> Sha256State::Finish() {
  std::array<unsigned char, 32> bytes;
  Check(::BCryptFinishHash(context_->get(), bytes.data(), static_cast<ULONG>(bytes.size()), 0));
  return bytes;
}

}  // namespace runnel
