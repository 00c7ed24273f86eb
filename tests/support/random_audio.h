// Audio on which a random model says something: noise whose level changes.
#ifndef RUNNEL_TESTS_SUPPORT_RANDOM_AUDIO_H_
#define RUNNEL_TESTS_SUPPORT_RANDOM_AUDIO_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace runnel::testing {

// Samples in [-1, 1]; another level every 50 ms at 16 kHz.
inline std::vector<float> NoiseOfChangingLevel(size_t num_samples, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> samples(num_samples);
  float level = 0;
  for (size_t i = 0; i < num_samples; ++i) {
    if (i % 800 == 0) level = std::exp(2 * normal(random) - 5);
    samples[i] = std::clamp(level * normal(random), -1.0F, 1.0F);
  }
  return samples;
}

// Noise of changing level, and in turns with it every `period` samples weak noise of one level.
inline std::vector<float> NoiseWithPauses(size_t num_samples, uint64_t seed, size_t period) {
  std::vector<float> samples = NoiseOfChangingLevel(num_samples, seed);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> weak(0, 1e-4F);
  for (size_t i = 0; i < num_samples; ++i) {
    if (i / period % 2 == 1) samples[i] = weak(random);
  }
  return samples;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RANDOM_AUDIO_H_
