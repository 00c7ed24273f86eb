// Encoders with seeded random weights, for property tests: no file, any size, either precision.
#ifndef RUNNEL_TESTS_SUPPORT_RANDOM_ENCODER_H_
#define RUNNEL_TESTS_SUPPORT_RANDOM_ENCODER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>

#include "encoder/encoder.h"
#include "encoder/encoder_config.h"

namespace runnel::testing {

// Small, and awkward on purpose: no size is a multiple of a vector register.
EncoderConfig SmallConfig();

// Every tensor such an encoder takes, float32, seeded, scaled so that activations stay near 1.
std::map<std::string, at::Tensor> RandomWeights(const EncoderConfig& config, uint64_t seed);

Encoder RandomEncoder(const EncoderConfig& config, at::ScalarType dtype, uint64_t seed);

// (num_frames, input_dim) float32, standard normal.
at::Tensor RandomFeatures(const EncoderConfig& config, int64_t num_frames, uint64_t seed);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RANDOM_ENCODER_H_
