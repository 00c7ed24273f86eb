#include "tests/support/random_encoder.h"

#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "encoder/cpu/backend.h"
#include "encoder/json/json_section.h"
#include "tests/support/matrices.h"
#include "tests/support/random_values.h"

namespace runnel::testing {
namespace {

// FNV-1a: the same on every platform, which std::hash need not be.
uint64_t Hash(uint64_t seed, const std::string& text) {
  uint64_t hash = 14695981039346656037U ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

PositionConfig PositionFromJson(const std::string& json) {
  const nlohmann::json object = nlohmann::json::parse(json);
  JsonSection section(object, "position", "test");
  return ParsePosition(&section);
}

EncoderConfig SmallConfig(const std::string& position) {
  EncoderConfig config;
  config.input_dim = 19;
  config.model_dim = 18;
  config.num_layers = 3;
  config.num_heads = 3;
  config.feed_forward.hidden_dim = 29;
  config.convolution->kernel_size = 6;
  config.position = PositionFromJson(position);
  return config;
}

RandomWeightSource::RandomWeightSource(DataType type, uint64_t seed)
    : Weights({}, type, "random weights"), seed_(seed) {}

Tensor RandomWeightSource::Take(const std::string& name, const Shape& shape) {
  // Weights of n inputs have deviation 1/sqrt(n); biases and everything else 0.3.
  int64_t inputs = 1;
  int64_t count = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    count *= shape[i];
    if (i > 0) inputs *= shape[i];
  }
  const double deviation = shape.size() == 1 ? 0.3 : 1 / std::sqrt(static_cast<double>(inputs));
  const bool is_norm = shape.size() == 1 && EndsWith(name, ".weight");
  const bool is_variance = EndsWith(name, ".running_var");
  NormalNumbers normal(Hash(seed_, name));
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    double random = deviation * normal();
    if (is_norm) random += 1;
    if (is_variance) random = std::abs(random) + 0.5;
    value = static_cast<float>(random);
  }
  const Tensor tensor(shape, std::move(values));
  taken_[name] = tensor;
  if (data_type() == DataType::kFloat32) return tensor;
  return {shape, Float64Values(tensor)};
}

std::map<std::string, Tensor> RandomWeights(const EncoderConfig& config, uint64_t seed) {
  RandomWeightSource source(DataType::kFloat32, seed);
  const Encoder encoder(config, &source, *MakeCpuBackend(config, &source, {}));
  return source.taken();
}

Encoder RandomEncoder(const EncoderConfig& config, const Arithmetic& arithmetic, uint64_t seed) {
  Weights weights(RandomWeights(config, seed), arithmetic.type, "random weights");
  Encoder encoder(config, &weights, *arithmetic.MakeBackend(config, &weights));
  weights.CheckAllTaken();
  return encoder;
}

Matrix RandomFeatures(const EncoderConfig& config, int64_t num_frames, uint64_t seed) {
  NormalNumbers normal(seed);
  return MatrixOf(DataType::kFloat32, num_frames, config.input_dim,
                  [&](int64_t, int64_t) { return normal(); });
}

}  // namespace runnel::testing
