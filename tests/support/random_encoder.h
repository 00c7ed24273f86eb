// Encoders with seeded random weights, for property tests: no file, any size, either precision.
#ifndef RUNNEL_TESTS_SUPPORT_RANDOM_ENCODER_H_
#define RUNNEL_TESTS_SUPPORT_RANDOM_ENCODER_H_

#include <cstdint>
#include <map>
#include <string>

#include "encoder/encoder.h"
#include "encoder/encoder_config.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/weights.h"
#include "encoder/rows.h"
#include "tests/support/arithmetic.h"

namespace runnel::testing {

// The `encoder.position` of the models that this project trains.
constexpr char kChunkRpe[] = R"({"scheme": "chunk_rpe", "linear_pos_bias": false,
                                 "query_scaling": "after_bias", "table_order": "descending"})";

// `encoder.position` as a model file states it.
PositionConfig PositionFromJson(const std::string& json);

// Small, and awkward on purpose: no size is a multiple of a vector register.
EncoderConfig SmallConfig(const std::string& position = kChunkRpe);

// Gives a random tensor, scaled so that activations stay near 1, for whatever it is asked for. It
// depends on the seed, name and shape only.
class RandomWeightSource : public Weights {
 public:
  RandomWeightSource(DataType type, uint64_t seed);

  Tensor Take(const std::string& name, const Shape& shape) override;

  // What was asked for, float32.
  const std::map<std::string, Tensor>& taken() const { return taken_; }

 private:
  uint64_t seed_;
  std::map<std::string, Tensor> taken_;
};

// Every tensor such an encoder takes, float32.
std::map<std::string, Tensor> RandomWeights(const EncoderConfig& config, uint64_t seed);

Encoder RandomEncoder(const EncoderConfig& config, const Arithmetic& arithmetic, uint64_t seed);

// (num_frames, input_dim) float32, standard normal.
Matrix RandomFeatures(const EncoderConfig& config, int64_t num_frames, uint64_t seed);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RANDOM_ENCODER_H_
