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
  config.feed_forward.hidden_dim = 29;
  config.convolution->kernel_size = 6;
  return config;
}

namespace {

// `add` takes a tensor's name and shape.
template <typename Add>
void AddSubsampling(const EncoderConfig& config, const Add& add) {
  const SubsamplingGeometry geometry(config.subsampling);
  const bool depthwise = config.subsampling.type == SubsamplingType::kDwStriding8;
  const int64_t channels =
      config.subsampling.is_striding() ? config.subsampling.channels : config.model_dim;
  const auto add_convolution = [&](int index, const std::vector<int64_t>& shape) {
    const std::string name = "encoder.embed.conv." + std::to_string(index);
    add(name + ".weight", shape);
    add(name + ".bias", {shape[0]});
  };
  int index = 0;
  for (const SubsamplingStage& stage : geometry.stages()) {
    const bool first = index == 0;
    add_convolution(
        index, {channels, first || depthwise ? 1 : channels, stage.kernel_size, stage.kernel_size});
    if (depthwise && !first) add_convolution(++index, {channels, channels, 1, 1});
    index += 2;
  }
  const int64_t inputs =
      geometry.NumBins(config.input_dim) * (geometry.stages().empty() ? 1 : channels);
  add("encoder.embed.out.0.weight", {config.model_dim, inputs});
  add("encoder.embed.out.0.bias", {config.model_dim});
  if (geometry.stages().empty()) {
    add("encoder.embed.out.1.weight", {config.model_dim});
    add("encoder.embed.out.1.bias", {config.model_dim});
  }
}

}  // namespace

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
  const auto add_linear = [&](const std::string& name, int64_t in, int64_t out, bool bias = true) {
    add(name + ".weight", {out, in});
    if (bias) add(name + ".bias", {out});
  };
  const auto add_norm = [&](const std::string& name) {
    add(name + ".weight", {config.model_dim});
    add(name + ".bias", {config.model_dim});
    tensors[name + ".weight"] += 1;
  };
  if (config.normalization == Normalization::kGlobalCmvn) {
    add("encoder.global_cmvn.mean", {config.input_dim});
    add("encoder.global_cmvn.istd", {config.input_dim});
  }
  AddSubsampling(config, add);
  if (config.after_norm) add_norm("encoder.after_norm");
  const int64_t dim = config.model_dim;
  for (int i = 0; i < config.num_layers; ++i) {
    const std::string layer = "encoder.encoders." + std::to_string(i);
    for (const char* name : {"_macaron", ""}) {
      if (*name != 0 && !config.feed_forward.macaron) continue;
      const bool bias = config.feed_forward.bias;
      add_norm(layer + ".norm_ff" + name);
      add_linear(layer + ".feed_forward" + name + ".w_1", dim, config.feed_forward.hidden_dim,
                 bias);
      add_linear(layer + ".feed_forward" + name + ".w_2", config.feed_forward.hidden_dim, dim,
                 bias);
    }
    add_norm(layer + ".norm_mha");
    for (const char* name : {".linear_q", ".linear_k", ".linear_v", ".linear_out"}) {
      add_linear(layer + ".self_attn" + name, dim, dim);
    }
    add(layer + ".self_attn.linear_pos.weight", {dim, dim});
    add(layer + ".self_attn.pos_bias_u", {config.num_heads, config.head_dim()});
    add(layer + ".self_attn.pos_bias_v", {config.num_heads, config.head_dim()});
    if (!config.convolution) continue;
    const ConvolutionConfig& convolution = *config.convolution;
    add_norm(layer + ".norm_conv");
    add_norm(layer + ".norm_final");
    const auto add_convolution = [&](const char* name, const std::vector<int64_t>& shape) {
      add(layer + ".conv_module." + name + ".weight", shape);
      if (convolution.bias) add(layer + ".conv_module." + name + ".bias", {shape[0]});
    };
    add_convolution("pointwise_conv1", {2 * dim, dim, 1});
    add_convolution("depthwise_conv", {dim, 1, convolution.kernel_size});
    add_convolution("pointwise_conv2", {dim, dim, 1});
    add_norm(layer + ".conv_module.norm");
    if (convolution.norm == ConvolutionNorm::kBatchNorm) {
      add(layer + ".conv_module.norm.running_mean", {dim});
      add(layer + ".conv_module.norm.running_var", {dim});
      at::Tensor& variance = tensors[layer + ".conv_module.norm.running_var"];
      variance = variance.abs() + 0.5;
    }
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
