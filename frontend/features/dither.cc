#include "frontend/features/dither.h"

#include <cmath>

namespace runnel {
namespace {

// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): counters in, well-mixed bits out.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr uint64_t kCounterStep = 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio, odd

}  // namespace

void AddDither(const float* samples, size_t count, float deviation, uint64_t seed, int64_t frame,
               float* output) {
  const float two_pi = 2.0F * std::acos(-1.0F);
  const uint64_t key = Mix(Mix(seed + kCounterStep) + static_cast<uint64_t>(frame));
  for (size_t i = 0; i < count; i += 2) {
    // Two uniform numbers of 24 bits, the first above 0, to two normal ones (Box and Muller, 1958).
    const uint64_t bits = Mix(key + kCounterStep * (i / 2 + 1));
    const float u = static_cast<float>((bits >> 40) + 1) * 0x1p-24F;
    const float v = static_cast<float>(bits & 0xffffffU) * 0x1p-24F;
    const float radius = deviation * std::sqrt(-2.0F * std::log(u));
    output[i] = samples[i] + radius * std::cos(two_pi * v);
    if (i + 1 < count) output[i + 1] = samples[i + 1] + radius * std::sin(two_pi * v);
  }
}

}  // namespace runnel
