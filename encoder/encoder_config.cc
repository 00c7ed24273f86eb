#include "encoder/encoder_config.h"

#include <cstddef>
#include <numeric>
#include <string>
#include <variant>

#include "encoder/json/json_section.h"

namespace runnel {
namespace {

// Far above any model, low enough that the product of two sizes stays within 64 bits.
constexpr int64_t kMaxSize = 1 << 20;
constexpr int64_t kMaxKernelSize = 4096;  // encoder frames
constexpr int64_t kMaxStride = 64;        // encoder frames
constexpr int64_t kMaxMultiple = 1024;    // encoder frames

void ParseNormalization(JsonSection section, EncoderConfig* config) {
  struct Kind {
    Normalization normalization;
    FeatureDeviation deviation;
  };
  const Kind kind = section.Choice<Kind>(
      "type", {{"none", {Normalization::kNone, FeatureDeviation::kNone}},
               {"global_cmvn", {Normalization::kGlobalCmvn, FeatureDeviation::kNone}},
               {"utterance", {Normalization::kUtterance, FeatureDeviation::kUnbiased}},
               {"running", {Normalization::kRunning, FeatureDeviation::kUnbiased}},
               {"utterance_mean", {Normalization::kUtterance, FeatureDeviation::kNone}},
               {"running_mean", {Normalization::kRunning, FeatureDeviation::kNone}},
               {"utterance_biased", {Normalization::kUtterance, FeatureDeviation::kBiased}},
               {"running_biased", {Normalization::kRunning, FeatureDeviation::kBiased}}});
  config->normalization = kind.normalization;
  config->deviation = kind.deviation;
  if (kind.deviation != FeatureDeviation::kNone) {
    config->normalization_epsilon = ParseEpsilon(&section, "epsilon");
  }
  section.CheckAllTaken();
}

SubsamplingConfig ParseSubsampling(JsonSection section) {
  SubsamplingConfig config;
  config.type =
      section.Choice<SubsamplingType>("type", {{"conv1d2", SubsamplingType::kConv1d2},
                                               {"conv2d_2", SubsamplingType::kConv2dOnce2},
                                               {"conv2d2", SubsamplingType::kConv2d2},
                                               {"conv2d4", SubsamplingType::kConv2d4},
                                               {"conv2d6", SubsamplingType::kConv2d6},
                                               {"conv2d8", SubsamplingType::kConv2d8},
                                               {"conv2d_1_2_1", SubsamplingType::kConv2d121},
                                               {"conv2d_1_2_2", SubsamplingType::kConv2d122},
                                               {"linear", SubsamplingType::kLinear},
                                               {"striding4", SubsamplingType::kStriding4},
                                               {"dw_striding8", SubsamplingType::kDwStriding8}});
  if (config.is_striding()) {
    config.channels = static_cast<int>(section.Integer("channels", 1, kMaxSize));
    config.causal = section.Bool("causal");
  }
  section.CheckAllTaken();
  return config;
}

FeedForwardConfig ParseFeedForward(JsonSection section) {
  FeedForwardConfig config;
  config.macaron = section.Bool("macaron");
  config.activation = ParseActivation(&section);
  config.bias = section.Bool("bias");
  section.CheckAllTaken();
  return config;
}

ConvolutionType ParseConvolutionType(JsonSection* section) {
  return section->Choice<ConvolutionType>("type",
                                          {{"causal", ConvolutionType::kCausal},
                                           {"symmetric", ConvolutionType::kSymmetric},
                                           {"dynamic_chunk", ConvolutionType::kDynamicChunk}});
}

ConvolutionConfig ParseConvolution(JsonSection section) {
  ConvolutionConfig config;
  config.type = ParseConvolutionType(&section);
  config.kernel_size = static_cast<int>(section.Integer("kernel_size", 1, kMaxKernelSize));
  config.norm =
      section.Choice<ConvolutionNorm>("norm", {{"none", ConvolutionNorm::kNone},
                                               {"layer_norm", ConvolutionNorm::kLayerNorm},
                                               {"batch_norm", ConvolutionNorm::kBatchNorm}});
  if (config.norm != ConvolutionNorm::kNone) {
    config.norm_epsilon = ParseEpsilon(&section, "norm_epsilon");
  } else if (!section.IsNull("norm_epsilon")) {
    section.Number("norm_epsilon");  // throws where the field is missing
    section.Fail("norm_epsilon", "null without a norm");
  }
  config.activation = ParseActivation(&section);
  config.bias = section.Bool("bias");
  config.gated_padding =
      section.Choice<bool>("left_padding", {{"zero", false}, {"gated_zero", true}});
  if (config.gated_padding && config.type != ConvolutionType::kCausal) {
    section.Fail("left_padding", "\"zero\" where the type is not causal");
  }
  section.CheckAllTaken();
  return config;
}

BranchesConfig ParseBranches(JsonSection section) {
  BranchesConfig config;
  config.type = ParseConvolutionType(&section);
  config.cgmlp_dim = static_cast<int>(section.Integer("cgmlp_dim", 2, kMaxSize));
  if (config.cgmlp_dim % 2 != 0) section.Fail("cgmlp_dim", "an even number");
  config.cgmlp_kernel_size =
      static_cast<int>(section.Integer("cgmlp_kernel_size", 1, kMaxKernelSize));
  config.linear_after_convolution = section.Bool("linear_after_convolution");
  config.gate_activation =
      section.Choice<Activation>("gate_activation", {{"identity", Activation::kIdentity},
                                                     {"swish", Activation::kSwish},
                                                     {"relu", Activation::kRelu},
                                                     {"gelu", Activation::kGelu},
                                                     {"tanh", Activation::kTanh}});
  config.merge_kernel_size =
      static_cast<int>(section.Integer("merge_kernel_size", 0, kMaxKernelSize));
  section.CheckAllTaken();
  return config;
}

void ParseStrides(JsonSection* section, EncoderConfig* config) {
  if (!config->convolution) section->Fail("convolution", "an object, which has the strides");
  config->strides = section->Integers("strides", 1, kMaxStride);
  if (config->strides.size() != static_cast<size_t>(config->num_layers)) {
    section->Fail("strides", "one for each of num_layers " + std::to_string(config->num_layers));
  }
  config->strides_divide_kernels = section->Bool("strides_divide_kernels");
  int64_t product = 1;
  for (const int64_t stride : config->strides) {
    product *= stride;
    if (product > kMaxStride) {
      section->Fail("strides", "a product of at most " + std::to_string(kMaxStride));
    }
  }
  if (config->kernel_size(config->num_layers - 1) < 1) {
    section->Fail("strides_divide_kernels", "kernels that are left of at least one frame");
  }
  if (!std::holds_alternative<NoPosition>(config->position) &&
      !std::holds_alternative<UnshiftedPosition>(config->position) &&
      !std::holds_alternative<GroupedUnshifted>(config->position)) {
    section->Fail("position", "the scheme none, unshifted or grouped_unshifted, as strides need");
  }
}

// The layers of a Conformer of any type, or of a Transformer.
void ParseConformer(JsonSection* section, EncoderConfig* config) {
  const auto hidden_dim = static_cast<int>(section->Integer("feed_forward_dim", 1, kMaxSize));
  config->feed_forward = ParseFeedForward(section->Section("feed_forward"));
  config->feed_forward.hidden_dim = hidden_dim;
  config->convolution.reset();
  if (!section->IsNull("convolution")) {
    config->convolution = ParseConvolution(section->Section("convolution"));
  }
  if (config->type == EncoderType::kEfficientConformer) ParseStrides(section, config);
  if (config->type == EncoderType::kReworkedConformer) {
    config->feed_forward.half_steps = false;
  } else {
    config->norm_first = section->Bool("norm_first");
  }
}

// The layers of a Branchformer or E-Branchformer.
void ParseBranchformer(JsonSection* section, EncoderConfig* config) {
  config->feed_forward.macaron = false;
  if (!section->IsNull("feed_forward")) {
    const auto hidden_dim = static_cast<int>(section->Integer("feed_forward_dim", 1, kMaxSize));
    config->feed_forward = ParseFeedForward(section->Section("feed_forward"));
    config->feed_forward.hidden_dim = hidden_dim;
  } else if (section->Integer("feed_forward_dim", 0, kMaxSize) != 0) {
    section->Fail("feed_forward_dim", "0 where feed_forward is null");
  }
  config->convolution.reset();
  config->branches = ParseBranches(section->Section("branches"));
}

AttentionBias ParseAttentionBias(JsonSection* section) {
  AttentionBias bias;
  bias.query = section->Bool("query");
  bias.key = section->Bool("key");
  bias.value = section->Bool("value");
  bias.out = section->Bool("out");
  section->CheckAllTaken();
  return bias;
}

}  // namespace

double ParseEpsilon(JsonSection* section, const std::string& field) {
  const double epsilon = section->Number(field);
  if (!(epsilon > 0 && epsilon < 1)) section->Fail(field, "a number between 0 and 1");
  return epsilon;
}

Activation ParseActivation(JsonSection* section) {
  return section->Choice<Activation>("activation", {{"swish", Activation::kSwish},
                                                    {"relu", Activation::kRelu},
                                                    {"gelu", Activation::kGelu},
                                                    {"double_swish", Activation::kDoubleSwish}});
}

int64_t EncoderConfig::stride(int layer) const {
  return strides.empty() ? 1 : strides[static_cast<size_t>(layer)];
}

int64_t EncoderConfig::kernel_size(int layer) const {
  int64_t size = convolution ? convolution->kernel_size : 0;
  if (!strides_divide_kernels) return size;
  for (int before = 0; before < layer; ++before) size /= stride(before);
  return size;
}

int64_t EncoderConfig::group_size(int layer) const {
  const auto* grouped = std::get_if<GroupedUnshifted>(&position);
  return grouped == nullptr ? 1 : grouped->group_sizes[static_cast<size_t>(layer)];
}

int64_t EncoderConfig::frames_per_encoder_frame(int layer) const {
  int64_t frames = 1;
  for (int after = layer; after < num_layers; ++after) frames *= stride(after);
  return frames;
}

int64_t EncoderConfig::ChunkMultiple() const {
  int64_t multiple = 1;
  // Until it is more than any encoder has: the multiple of many groups has no limit.
  for (int layer = 0; layer < num_layers && multiple <= kMaxMultiple; ++layer) {
    const int64_t group = group_size(layer);
    multiple = std::lcm(multiple, group / std::gcd(group, frames_per_encoder_frame(layer)));
  }
  return multiple;
}

const ConvolutionType* EncoderConfig::convolution_type() const {
  if (convolution) return &convolution->type;
  return branches ? &branches->type : nullptr;
}

const char* EncoderConfig::NeedsWholeUtterance() const {
  if (const char* reason = runnel::NeedsWholeUtterance(position)) return reason;
  const ConvolutionType* convolutions = convolution_type();
  if (convolutions != nullptr && *convolutions == ConvolutionType::kSymmetric) {
    return "its convolution reads frames after the chunk (convolution type symmetric; "
           "dynamic_chunk, when chosen, closes it at the chunk's end)";
  }
  if (normalization == Normalization::kUtterance) {
    return "its features are normalised over the whole utterance (normalization utterance; "
           "running, when chosen, uses the frames received so far)";
  }
  return nullptr;
}

const char* EncoderConfig::NeedsWholeWindows() const {
  if (std::holds_alternative<LegacyRelPos>(position)) {
    return "the position scheme of this model (legacy_rel_pos) counts from the end of the window";
  }
  for (int layer = 0; layer < num_layers; ++layer) {
    if (stride(layer) > 1 || group_size(layer) > 1) {
      return "layers of this model join frames (strides or group_sizes)";
    }
  }
  return nullptr;
}

EncoderConfig ParseEncoderConfig(JsonSection* section) {
  EncoderConfig config;
  config.type = section->Choice<EncoderType>(
      "type", {{"conformer", EncoderType::kConformer},
               {"multitalker_conformer", EncoderType::kMultitalkerConformer},
               {"reworked_conformer", EncoderType::kReworkedConformer},
               {"efficient_conformer", EncoderType::kEfficientConformer},
               {"branchformer", EncoderType::kBranchformer}});
  config.input_dim = static_cast<int>(section->Integer("input_dim", 1, kMaxSize));
  config.model_dim = static_cast<int>(section->Integer("model_dim", 2, kMaxSize));
  config.num_layers = static_cast<int>(section->Integer("num_layers", 1, 1024));
  config.num_heads = static_cast<int>(section->Integer("num_heads", 1, kMaxSize));
  ParseNormalization(section->Section("normalization"), &config);
  config.subsampling = ParseSubsampling(section->Section("subsampling"));
  if (SubsamplingGeometry(config.subsampling).NumBins(config.input_dim) < 1) {
    section->Fail("input_dim", "bins enough for the convolutions of the subsampling");
  }
  config.scale_input = section->Bool("scale_input");

  JsonSection position = section->Section("position");
  config.position = ParsePosition(&position);
  const auto* grouped = std::get_if<GroupedUnshifted>(&config.position);
  if (grouped != nullptr && grouped->group_sizes.size() != static_cast<size_t>(config.num_layers)) {
    position.Fail("group_sizes", "one for each of num_layers " + std::to_string(config.num_layers));
  }
  JsonSection attention_bias = section->Section("attention_bias");
  config.attention_bias = ParseAttentionBias(&attention_bias);

  if (config.type == EncoderType::kBranchformer) {
    ParseBranchformer(section, &config);
  } else {
    ParseConformer(section, &config);
  }
  if (config.type == EncoderType::kReworkedConformer) {
    config.after_norm = false;
  } else {
    config.after_norm = section->Bool("after_norm");
    config.layer_norm_eps = ParseEpsilon(section, "layer_norm_eps");
  }
  if (config.model_dim % config.num_heads != 0) {
    section->Fail("num_heads", "a divisor of model_dim " + std::to_string(config.model_dim));
  }
  if (config.model_dim % 2 != 0) section->Fail("model_dim", "an even number");
  if (std::holds_alternative<RotaryPosition>(config.position) && config.head_dim() % 2 != 0) {
    section->Fail("num_heads", "heads of an even size, which rotary positions need");
  }
  if (config.ChunkMultiple() > kMaxMultiple) {
    position.Fail("group_sizes", "sizes with a common multiple of at most " +
                                     std::to_string(kMaxMultiple) + " encoder frames");
  }
  section->CheckAllTaken();
  return config;
}

}  // namespace runnel
