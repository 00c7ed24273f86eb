#include "encoder/encoder_config.h"

#include <string>
#include <variant>

#include "encoder/json/json_section.h"

namespace runnel {
namespace {

// Far above any model, low enough that the product of two sizes stays within 64 bits.
constexpr int64_t kMaxSize = 1 << 20;
constexpr int64_t kMaxKernelSize = 4096;  // encoder frames

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

// The layers of a Conformer of any type, or of a Transformer.
void ParseConformer(JsonSection* section, EncoderConfig* config) {
  const auto hidden_dim = static_cast<int>(section->Integer("feed_forward_dim", 1, kMaxSize));
  config->feed_forward = ParseFeedForward(section->Section("feed_forward"));
  config->feed_forward.hidden_dim = hidden_dim;
  config->convolution.reset();
  if (!section->IsNull("convolution")) {
    config->convolution = ParseConvolution(section->Section("convolution"));
  }
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

EncoderConfig ParseEncoderConfig(JsonSection* section) {
  EncoderConfig config;
  config.type = section->Choice<EncoderType>(
      "type", {{"conformer", EncoderType::kConformer},
               {"multitalker_conformer", EncoderType::kMultitalkerConformer},
               {"reworked_conformer", EncoderType::kReworkedConformer},
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
  section->CheckAllTaken();
  return config;
}

}  // namespace runnel
