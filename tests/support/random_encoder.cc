#include "tests/support/random_encoder.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "encoder/json/json_section.h"

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

RandomWeightSource::RandomWeightSource(at::ScalarType dtype, uint64_t seed)
    : Weights({}, dtype, "random weights"), dtype_(dtype), seed_(seed) {}

at::Tensor RandomWeightSource::Take(const std::string& name, const std::vector<int64_t>& shape) {
  at::Generator generator = at::detail::createCPUGenerator(Hash(seed_, name));
  at::Tensor tensor = at::randn(shape, generator, at::TensorOptions(at::kFloat));
  // Weights of n inputs have deviation 1/sqrt(n); biases and everything else 0.3.
  int64_t inputs = 1;
  for (size_t i = 1; i < shape.size(); ++i) inputs *= shape[i];
  tensor *= shape.size() == 1 ? 0.3 : 1 / std::sqrt(static_cast<double>(inputs));
  if (shape.size() == 1 && EndsWith(name, ".weight")) tensor += 1;  // of a norm
  if (EndsWith(name, ".running_var")) tensor = tensor.abs() + 0.5;
  taken_[name] = tensor;
  return tensor.to(dtype_);
}

std::map<std::string, at::Tensor> RandomWeights(const EncoderConfig& config, uint64_t seed) {
  RandomWeightSource source(at::kFloat, seed);
  const Encoder encoder(config, &source, *MakeLibTorchBackend(config, &source));
  return source.taken();
}

Encoder RandomEncoder(const EncoderConfig& config, const Arithmetic& arithmetic, uint64_t seed) {
  Weights weights(RandomWeights(config, seed), arithmetic.dtype, "random weights");
  Encoder encoder(config, &weights, *arithmetic.MakeBackend(config, &weights));
  weights.CheckAllTaken();
  return encoder;
}

Encoder RandomEncoder(const EncoderConfig& config, at::ScalarType dtype, uint64_t seed) {
  return RandomEncoder(config, LibTorchArithmetic(dtype), seed);
}

at::Tensor RandomFeatures(const EncoderConfig& config, int64_t num_frames, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randn({num_frames, config.input_dim}, generator, at::TensorOptions(at::kFloat));
}

}  // namespace runnel::testing
