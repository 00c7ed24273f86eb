#include "platform/sha256_state.h"

#include <algorithm>
#include <cstdint>

namespace runnel {
namespace {

constexpr size_t kBlockBytes = 64;
constexpr size_t kLengthBytes = 8;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr uint32_t kRoundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr uint32_t Rotated(uint32_t word, int bits) {
  return (word >> bits) | (word << (32 - bits));
}

}  // namespace

// FIPS 180-4: neither browsers nor emscripten have a library that computes it at once.
class Sha256State::Context {
 public:
  void Add(const unsigned char* bytes, size_t count) {
    num_bytes_ += count;
    while (count > 0) {
      const size_t part = std::min(count, kBlockBytes - filled_);
      std::copy(bytes, bytes + part, block_ + filled_);
      filled_ += part;
      bytes += part;
      count -= part;
      if (filled_ == kBlockBytes) AddBlock();
    }
  }

  // A bit 1, bits 0 to the end of a block, and there the number of bits that were added.
  std::array<unsigned char, 32> Finish() {
    const uint64_t num_bits = 8 * num_bytes_;
    constexpr unsigned char kEnd[kBlockBytes] = {0x80};
    constexpr size_t kContents = kBlockBytes - kLengthBytes;  // of the last block
    const size_t room =
        filled_ < kContents ? kContents - filled_ : kContents + kBlockBytes - filled_;
    Add(kEnd, room);
    unsigned char length[kLengthBytes];
    for (size_t i = 0; i < kLengthBytes; ++i) {
      length[i] = static_cast<unsigned char>(num_bits >> (8 * (kLengthBytes - 1 - i)));
    }
    Add(length, kLengthBytes);
    std::array<unsigned char, 32> hash;
    for (size_t i = 0; i < hash.size(); ++i) {
      hash[i] = static_cast<unsigned char>(sums_[i / 4] >> (24 - 8 * (i % 4)));
    }
    return hash;
  }

 private:
  void AddBlock() {
    filled_ = 0;
    uint32_t words[64];
    for (int i = 0; i < 16; ++i) {
      words[i] = static_cast<uint32_t>(block_[4 * i]) << 24 | block_[4 * i + 1] << 16 |
                 block_[4 * i + 2] << 8 | block_[4 * i + 3];
    }
    for (int i = 16; i < 64; ++i) {
      const uint32_t a = words[i - 15];
      const uint32_t b = words[i - 2];
      words[i] = words[i - 16] + (Rotated(a, 7) ^ Rotated(a, 18) ^ (a >> 3)) + words[i - 7] +
                 (Rotated(b, 17) ^ Rotated(b, 19) ^ (b >> 10));
    }
    std::array<uint32_t, 8> s = sums_;
    for (int i = 0; i < 64; ++i) {
      const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
      const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
      const uint32_t first = s[7] + (Rotated(s[4], 6) ^ Rotated(s[4], 11) ^ Rotated(s[4], 25)) +
                             choice + kRoundConstants[i] + words[i];
      const uint32_t second = (Rotated(s[0], 2) ^ Rotated(s[0], 13) ^ Rotated(s[0], 22)) + majority;
      s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
    }
    for (size_t i = 0; i < s.size(); ++i) sums_[i] += s[i];
  }

  // At first those of the square roots of the first 8 primes.
  std::array<uint32_t, 8> sums_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char block_[kBlockBytes] = {};
  size_t filled_ = 0;  // bytes of the block
  uint64_t num_bytes_ = 0;
};

Sha256State::Sha256State() : context_(std::make_unique<Context>()) {}
Sha256State::~Sha256State() = default;
Sha256State::Sha256State(Sha256State&&) noexcept = default;
Sha256State& Sha256State::operator=(Sha256State&&) noexcept = default;

void Sha256State::Add(const void* bytes, size_t count) {
  context_->Add(static_cast<const unsigned char*>(bytes), count);
}

std::array<unsigned char, 32> Sha256State::Finish() { return context_->Finish(); }

}  // namespace runnel
