#include "encoder/encoder_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <sstream>
#include <utility>

#include "encoder/subsampling_geometry.h"

namespace runnel {
namespace {

// A convolution whose kernel has one tap.
LinearWeights BindPointwise(Weights* weights, const std::string& name, int64_t input_dim,
                            int64_t output_dim, bool bias) {
  LinearWeights linear;
  linear.name = name + ".weight";
  linear.weight = weights->TakeMatrix(linear.name, {output_dim, input_dim, 1})
                      .Reshaped({output_dim, input_dim});
  if (bias) linear.bias = weights->Take(name + ".bias", {output_dim});
  return linear;
}

// The values, rounded to the type of `weights`.
Tensor Rounded(const Weights& weights, const Shape& shape, std::vector<double> values) {
  if (weights.data_type() == DataType::kFloat64) return {shape, std::move(values)};
  return {shape, std::vector<float>(values.begin(), values.end())};
}

void FoldBatchNorm(Weights* weights, const std::string& name, double epsilon,
                   DepthwiseWeights* convolution) {
  const Shape shape = convolution->bias.shape();
  const auto take = [&](const char* field) {
    return Float64Values(weights->Take(name + field, shape));
  };
  const std::vector<double> mean = take(".running_mean");
  const std::vector<double> weight = take(".weight");
  const std::vector<double> variance = take(".running_var");
  const std::vector<double> norm_bias = take(".bias");
  const size_t dim = mean.size();
  std::vector<double> scale(dim);
  std::vector<double> bias = Float64Values(convolution->bias);
  for (size_t i = 0; i < dim; ++i) {
    scale[i] = weight[i] / std::sqrt(variance[i] + epsilon);
    bias[i] = (bias[i] - mean[i]) * scale[i] + norm_bias[i];
  }
  if (!std::all_of(scale.begin(), scale.end(), [](double x) { return std::isfinite(x); })) {
    weights->Fail(name + ".running_var", "holds a negative value, expected a variance");
  }
  std::vector<double> taps = Float64Values(convolution->taps);
  for (size_t i = 0; i < taps.size(); ++i) taps[i] *= scale[i % dim];
  convolution->taps = Rounded(*weights, convolution->taps.shape(), std::move(taps));
  convolution->bias = Rounded(*weights, shape, std::move(bias));
}

DepthwiseWeights BindDepthwise(Weights* weights, const std::string& name, int64_t dim,
                               int64_t kernel_size, bool bias) {
  return {Transposed(
              weights->Take(name + ".weight", {dim, 1, kernel_size}).Reshaped({dim, kernel_size})),
          bias ? weights->Take(name + ".bias", {dim}) : Zeros(weights->data_type(), {dim})};
}

// Folds the residual connection around a convolution into the tap of the frame itself.
void FoldResidual(const Weights& weights, int64_t frame_tap, DepthwiseWeights* convolution) {
  std::vector<double> taps = Float64Values(convolution->taps);
  const auto dim = static_cast<size_t>(convolution->taps.size(1));
  for (size_t i = 0; i < dim; ++i) taps[static_cast<size_t>(frame_tap) * dim + i] += 1;
  convolution->taps = Rounded(weights, convolution->taps.shape(), std::move(taps));
}

std::vector<SubsamplingStageWeights> BindStages(const EncoderConfig& config, Weights* weights) {
  const bool depthwise = config.subsampling.type == SubsamplingType::kDwStriding8;
  const SubsamplingGeometry geometry(config.subsampling);
  std::vector<SubsamplingStageWeights> stages;
  int index = 0;  // of the layer in the checkpoint; ReLUs are counted too
  for (const SubsamplingStage& stage : geometry.stages()) {
    const bool first = index == 0;
    const int64_t channels = NumChannels(config.subsampling, stages.size(), config.model_dim);
    const int64_t first_channels = geometry.bins_are_channels() ? config.input_dim : 1;
    const int64_t input_channels = first ? first_channels : stages.back().bias.size(0);
    SubsamplingStageWeights bound;
    // Convolutions over all channels are computed as matmuls.
    const auto take = [&](int layer, bool all_channels, const Shape& shape, Tensor* weight,
                          Tensor* bias) {
      const std::string name = "encoder.embed.conv." + std::to_string(layer);
      if (all_channels) bound.matrix_name = name + ".weight";
      *weight = all_channels ? weights->TakeMatrix(bound.matrix_name, shape)
                             : weights->Take(name + ".weight", shape);
      *bias = weights->Take(name + ".bias", {channels});
    };
    bound.groups = depthwise && !first ? channels : 1;
    const bool all_channels = geometry.bins_are_channels() || (!first && !depthwise);
    take(index, all_channels,
         {channels, all_channels ? input_channels : 1, stage.kernel_size,
          geometry.BinKernelSize(stage)},
         &bound.weight, &bound.bias);
    index += 2;
    if (depthwise && !first) {
      take(index - 1, true, {channels, channels, 1, 1}, &bound.pointwise_weight,
           &bound.pointwise_bias);
      index += 1;
    }
    stages.push_back(std::move(bound));
  }
  return stages;
}

std::string LayerName(int layer) { return kEncoderLayers + std::to_string(layer); }

}  // namespace

BasicNormWeights BindBasicNorm(Weights* weights, const std::string& name) {
  const std::string field = name + ".log_epsilon";
  const double epsilon = std::exp(Float64Values(weights->Take(field, {1}))[0]);
  if (!(epsilon > 0 && epsilon < std::numeric_limits<float>::max())) {
    weights->Fail(field, "holds a value that is out of range, expected a logarithm");
  }
  return {epsilon};
}

LinearWeights BindLinear(Weights* weights, const std::string& name, int64_t input_dim,
                         int64_t output_dim, bool bias) {
  LinearWeights linear;
  linear.name = name + ".weight";
  linear.weight = weights->TakeMatrix(linear.name, {output_dim, input_dim});
  if (bias) linear.bias = weights->Take(name + ".bias", {output_dim});
  return linear;
}

LayerNormWeights BindLayerNorm(Weights* weights, const std::string& name, int64_t dim,
                               double epsilon) {
  return {weights->Take(name + ".weight", {dim}), weights->Take(name + ".bias", {dim}), epsilon};
}

std::string MergedName(const std::vector<std::string>& names) {
  std::string merged;
  for (const std::string& name : names) merged += (merged.empty() ? "" : "+") + name;
  return merged;
}

std::vector<std::string> MergedParts(const std::string& name) {
  std::vector<std::string> parts;
  std::istringstream stream(name);
  for (std::string part; std::getline(stream, part, '+');) parts.push_back(part);
  return parts;
}

LinearWeights Stacked(const std::vector<LinearWeights>& parts) {
  std::vector<std::string> names;
  std::vector<Tensor> matrices, biases;
  for (const LinearWeights& part : parts) {
    names.push_back(part.name);
    matrices.push_back(part.weight);
    biases.push_back(part.bias.defined() ? part.bias
                                         : Zeros(part.weight.type(), {part.weight.size(0)}));
  }
  return {MergedName(names), Concatenated(matrices), Concatenated(biases)};
}

Tensor Scaled(const Tensor& tensor, double scale) {
  if (!tensor.defined() || scale == 1.0) return tensor;
  if (tensor.type() == DataType::kFloat64) {
    std::vector<double> values = Float64Values(tensor);
    for (double& value : values) value *= scale;
    return {tensor.shape(), std::move(values)};
  }
  std::vector<float> values = Float32Values(tensor);
  for (float& value : values) value *= static_cast<float>(scale);
  return {tensor.shape(), std::move(values)};
}

std::string AttentionName(int layer) { return LayerName(layer) + ".self_attn"; }

std::vector<std::string> AttentionNames(const EncoderConfig& config) {
  std::vector<std::string> names;
  for (int layer = 0; layer < config.num_layers; ++layer) names.push_back(AttentionName(layer));
  return names;
}

GlobalCmvnWeights BindGlobalCmvn(const EncoderConfig& config, Weights* weights) {
  return {Float32Values(weights->Take("encoder.global_cmvn.mean", {config.input_dim})),
          Float32Values(weights->Take("encoder.global_cmvn.istd", {config.input_dim}))};
}

SubsamplingWeights BindSubsampling(const EncoderConfig& config, Weights* weights) {
  const SubsamplingGeometry geometry(config.subsampling);
  const size_t num_stages = geometry.stages().size();
  const bool convolves = num_stages > 0;
  const int64_t out_dim =
      geometry.NumBins(config.input_dim) *
      (convolves ? NumChannels(config.subsampling, num_stages - 1, config.model_dim) : 1);
  SubsamplingWeights subsampling;
  subsampling.stages = BindStages(config, weights);
  subsampling.out = BindLinear(weights, "encoder.embed.out.0", out_dim, config.model_dim);
  if (!convolves) {
    subsampling.norm =
        BindLayerNorm(weights, "encoder.embed.out.1", config.model_dim, config.layer_norm_eps);
  }
  if (config.subsampling.is_reworked()) {
    subsampling.activation = Activation::kDoubleSwish;
    subsampling.basic_norm = BindBasicNorm(weights, "encoder.embed.out.1");
  }
  return subsampling;
}

AttentionWeights BindAttention(const EncoderConfig& config, const std::string& name,
                               Weights* weights) {
  const int64_t dim = config.model_dim;
  const AttentionBias& bias = config.attention_bias;
  AttentionWeights attention;
  attention.query = BindLinear(weights, name + ".linear_q", dim, dim, bias.query);
  attention.key = BindLinear(weights, name + ".linear_k", dim, dim, bias.key);
  attention.value = BindLinear(weights, name + ".linear_v", dim, dim, bias.value);
  attention.out = BindLinear(weights, name + ".linear_out", dim, dim, bias.out);
  return attention;
}

ConvolutionWeights BindConvolution(const EncoderConfig& config, int layer, const std::string& name,
                                   Weights* weights) {
  const int64_t dim = config.model_dim;
  const ConvolutionConfig& sizes = *config.convolution;
  ConvolutionWeights convolution;
  convolution.pointwise_1 =
      BindPointwise(weights, name + ".pointwise_conv1", dim, 2 * dim, sizes.bias);
  convolution.depthwise =
      BindDepthwise(weights, name + ".depthwise_conv", dim, config.kernel_size(layer), sizes.bias);
  convolution.stride = config.stride(layer);
  if (sizes.norm == ConvolutionNorm::kBatchNorm) {
    FoldBatchNorm(weights, name + ".norm", sizes.norm_epsilon, &convolution.depthwise);
  } else if (sizes.norm == ConvolutionNorm::kLayerNorm) {
    convolution.norm = BindLayerNorm(weights, name + ".norm", dim, sizes.norm_epsilon);
  }
  convolution.pointwise_2 = BindPointwise(weights, name + ".pointwise_conv2", dim, dim, sizes.bias);
  return convolution;
}

FeedForwardWeights BindFeedForward(const EncoderConfig& config, const std::string& name,
                                   Weights* weights) {
  const FeedForwardConfig& sizes = config.feed_forward;
  FeedForwardWeights feed_forward;
  feed_forward.w_1 =
      BindLinear(weights, name + ".w_1", config.model_dim, sizes.hidden_dim, sizes.bias);
  feed_forward.w_2 =
      BindLinear(weights, name + ".w_2", sizes.hidden_dim, config.model_dim, sizes.bias);
  feed_forward.activation = sizes.activation;
  feed_forward.residual_scale = sizes.residual_scale();
  return feed_forward;
}

FeedForwardWeights BindSpeakerKernel(const EncoderConfig& config, Weights* weights) {
  const std::string name = "encoder.speaker_kernel";
  const int64_t dim = config.model_dim;
  return {BindLinear(weights, name + ".w_1", dim, dim),
          BindLinear(weights, name + ".w_2", dim, dim)};
}

CgmlpWeights BindCgmlp(const EncoderConfig& config, const std::string& name, Weights* weights) {
  const BranchesConfig& sizes = *config.branches;
  const int64_t dim = sizes.gate_dim();
  CgmlpWeights cgmlp;
  cgmlp.projection_1 =
      BindLinear(weights, name + ".channel_proj1", config.model_dim, sizes.cgmlp_dim);
  cgmlp.norm = BindLayerNorm(weights, name + ".csgu.norm", dim, config.layer_norm_eps);
  cgmlp.depthwise = BindDepthwise(weights, name + ".csgu.conv", dim, sizes.cgmlp_kernel_size, true);
  if (sizes.linear_after_convolution) {
    cgmlp.linear = BindLinear(weights, name + ".csgu.linear", dim, dim);
  }
  cgmlp.projection_2 = BindLinear(weights, name + ".channel_proj2", dim, config.model_dim);
  return cgmlp;
}

BranchMergeWeights BindBranchMerge(const EncoderConfig& config, const std::string& name,
                                   Weights* weights) {
  const BranchesConfig& sizes = *config.branches;
  const int64_t dim = 2 * static_cast<int64_t>(config.model_dim);
  BranchMergeWeights merge;
  if (sizes.merge_kernel_size > 0) {
    merge.depthwise =
        BindDepthwise(weights, name + ".depthwise_conv_fusion", dim, sizes.merge_kernel_size, true);
    FoldResidual(*weights, LeftFrames(sizes.type, sizes.merge_kernel_size), &*merge.depthwise);
  }
  merge.projection = BindLinear(weights, name + ".merge_proj", dim, config.model_dim);
  return merge;
}

ConformerLayerWeights BindConformerLayer(const EncoderConfig& config, int layer, Weights* weights) {
  const std::string name = LayerName(layer);
  const bool is_reworked = config.type == EncoderType::kReworkedConformer;
  const auto norm = [&](const char* field) {
    return is_reworked ? std::nullopt
                       : std::make_optional(BindLayerNorm(weights, name + field, config.model_dim,
                                                          config.layer_norm_eps));
  };
  ConformerLayerWeights bound;
  if (config.feed_forward.macaron) {
    bound.norm_feed_forward_macaron = norm(".norm_ff_macaron");
    bound.feed_forward_macaron = BindFeedForward(config, name + ".feed_forward_macaron", weights);
  }
  bound.norm_attention = norm(".norm_mha");
  bound.attention = BindAttention(config, AttentionName(layer), weights);
  if (config.convolution) {
    bound.norm_convolution = norm(".norm_conv");
    bound.convolution = BindConvolution(config, layer, name + ".conv_module", weights);
    bound.norm_final = norm(".norm_final");
  }
  bound.norm_feed_forward = norm(".norm_ff");
  bound.feed_forward = BindFeedForward(config, name + ".feed_forward", weights);
  if (is_reworked) bound.basic_norm = BindBasicNorm(weights, name + ".norm_final");
  return bound;
}

BranchformerLayerWeights BindBranchformerLayer(const EncoderConfig& config, int layer,
                                               Weights* weights) {
  const std::string name = LayerName(layer);
  const auto norm = [&](const char* field) {
    return BindLayerNorm(weights, name + field, config.model_dim, config.layer_norm_eps);
  };
  BranchformerLayerWeights bound;
  if (config.feed_forward.macaron) {
    bound.norm_feed_forward_macaron = norm(".norm_ff_macaron");
    bound.feed_forward_macaron = BindFeedForward(config, name + ".feed_forward_macaron", weights);
  }
  bound.norm_attention = norm(".norm_mha");
  bound.attention = BindAttention(config, AttentionName(layer), weights);
  bound.norm_cgmlp = norm(".norm_mlp");
  bound.cgmlp = BindCgmlp(config, name + ".cgmlp", weights);
  bound.merge = BindBranchMerge(config, name, weights);
  if (config.feed_forward.hidden_dim > 0) {
    bound.norm_feed_forward = norm(".norm_ff");
    bound.feed_forward = BindFeedForward(config, name + ".feed_forward", weights);
  }
  bound.norm_final = norm(".norm_final");
  return bound;
}

LayerNormWeights BindAfterNorm(const EncoderConfig& config, Weights* weights) {
  return BindLayerNorm(weights, "encoder.after_norm", config.model_dim, config.layer_norm_eps);
}

LinearWeights BindCtcHead(int64_t model_dim, int64_t vocab_size, Weights* weights) {
  return BindLinear(weights, "ctc.ctc_lo", model_dim, vocab_size);
}

}  // namespace runnel
