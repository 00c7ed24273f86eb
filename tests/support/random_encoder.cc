#include "tests/support/random_encoder.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>

#include <cmath>
#include <vector>

#include "encoder/weights.h"

namespace runnel::testing {

EncoderConfig SmallConfig() {
  EncoderConfig config;
  config.input_dim = 19;
  config.model_dim = 18;
  config.num_layers = 3;
  config.num_heads = 3;
  config.feed_forward_dim = 29;
  config.conv_kernel_size = 6;
  return config;
}

std::map<std::string, at::Tensor> RandomWeights(const EncoderConfig& config, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  std::map<std::string, at::Tensor> tensors;
  // Weights of n inputs have deviation 1/sqrt(n); biases and everything else 0.3.
  const auto add = [&](const std::string& name, const std::vector<int64_t>& shape) {
    int64_t inputs = 1;
    for (size_t i = 1; i < shape.size(); ++i) inputs *= shape[i];
    const double scale = shape.size() == 1 ? 0.3 : 1 / std::sqrt(static_cast<double>(inputs));
    tensors[name] = at::randn(shape, generator, at::TensorOptions(at::kFloat)) * scale;
  };
  const auto add_linear = [&](const std::string& name, int64_t in, int64_t out) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  };
  const auto add_norm = [&](const std::string& name) {
    add(name + ".weight", {config.model_dim});
    add(name + ".bias", {config.model_dim});
    tensors[name + ".weight"] += 1;
  };
  const int64_t dim = config.model_dim;
  add("encoder.global_cmvn.mean", {config.input_dim});
  add("encoder.global_cmvn.istd", {config.input_dim});
  add("encoder.embed.conv.0.weight", {dim, 1, 3, 3});
  add("encoder.embed.conv.0.bias", {dim});
  add("encoder.embed.conv.2.weight", {dim, dim, 3, 3});
  add("encoder.embed.conv.2.bias", {dim});
  add_linear("encoder.embed.out.0", dim * (((config.input_dim - 1) / 2 - 1) / 2), dim);
  add_norm("encoder.after_norm");
  for (int i = 0; i < config.num_layers; ++i) {
    const std::string layer = "encoder.encoders." + std::to_string(i);
    for (const char* norm :
         {".norm_ff_macaron", ".norm_mha", ".norm_conv", ".norm_ff", ".norm_final"}) {
      add_norm(layer + norm);
    }
    for (const char* name : {".feed_forward_macaron", ".feed_forward"}) {
      add_linear(layer + name + ".w_1", dim, config.feed_forward_dim);
      add_linear(layer + name + ".w_2", config.feed_forward_dim, dim);
    }
    for (const char* name : {".linear_q", ".linear_k", ".linear_v", ".linear_out"}) {
      add_linear(layer + ".self_attn" + name, dim, dim);
    }
    add(layer + ".self_attn.linear_pos.weight", {dim, dim});
    add(layer + ".self_attn.pos_bias_u", {config.num_heads, config.head_dim()});
    add(layer + ".self_attn.pos_bias_v", {config.num_heads, config.head_dim()});
    add(layer + ".conv_module.pointwise_conv1.weight", {2 * dim, dim, 1});
    add(layer + ".conv_module.pointwise_conv1.bias", {2 * dim});
    add(layer + ".conv_module.depthwise_conv.weight", {dim, 1, config.conv_kernel_size});
    add(layer + ".conv_module.depthwise_conv.bias", {dim});
    add_norm(layer + ".conv_module.norm");
    add(layer + ".conv_module.pointwise_conv2.weight", {dim, dim, 1});
    add(layer + ".conv_module.pointwise_conv2.bias", {dim});
  }
  return tensors;
}

Encoder RandomEncoder(const EncoderConfig& config, at::ScalarType dtype, uint64_t seed) {
  Weights weights(RandomWeights(config, seed), dtype, "random weights");
  Encoder encoder(config, &weights);
  weights.CheckAllTaken();
  return encoder;
}

at::Tensor RandomFeatures(const EncoderConfig& config, int64_t num_frames, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randn({num_frames, config.input_dim}, generator, at::TensorOptions(at::kFloat));
}

}  // namespace runnel::testing
