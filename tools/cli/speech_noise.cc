#include "tools/cli/speech_noise.h"

#include <cmath>
#include <cstddef>
#include <random>

namespace runnel {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Uniform in [0, 1). The distributions of the C++ standard differ between libraries.
double Uniform(std::mt19937_64* random) { return static_cast<double>((*random)() >> 11) * 0x1p-53; }

}  // namespace

std::vector<float> SpeechShapedNoise(double seconds, int sample_rate_hz, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto num_samples = static_cast<size_t>(seconds * sample_rate_hz);
  std::vector<float> samples(num_samples);
  // One pole at 500 Hz: 6 dB per octave above it, about the long-term spectrum of speech.
  const double pole = std::exp(-2 * kPi * 500 / sample_rate_hz);
  double filtered = 0;
  for (size_t begin = 0; begin < num_samples;) {
    const double syllable_seconds = 0.1 + 0.2 * Uniform(&random);
    const double level = Uniform(&random) < 0.2 ? 0 : 0.05 + 0.95 * Uniform(&random);
    const auto length = static_cast<size_t>(syllable_seconds * sample_rate_hz) + 1;
    for (size_t i = 0; i < length && begin + i < num_samples; ++i) {
      const double white = 2 * Uniform(&random) - 1;
      filtered = pole * filtered + (1 - pole) * white;
      const double rise = std::sin(kPi * static_cast<double>(i) / static_cast<double>(length));
      samples[begin + i] = static_cast<float>(0.9 * level * rise * filtered + 1e-4 * white);
    }
    begin += length;
  }
  return samples;
}

}  // namespace runnel
