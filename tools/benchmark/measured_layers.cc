#include "tools/benchmark/measured_layers.h"

#include "encoder/activation.h"
#include "encoder/position_config.h"
#include "encoder/subsampling_geometry.h"

namespace runnel {
namespace {

constexpr int64_t kUtteranceFrames = 1024;  // encoder frames

EncoderConfig AishellConfig() {
  EncoderConfig config;
  config.input_dim = 80;
  config.model_dim = 256;
  config.num_layers = 12;
  config.num_heads = 4;
  config.feed_forward.hidden_dim = 2048;
  config.convolution->kernel_size = 8;
  config.position = ChunkRpe();
  return config;
}

// WeNet's recipe for AISHELL, made causal.
EncoderConfig EBranchformerConfig() {
  EncoderConfig config = AishellConfig();
  config.num_layers = 17;
  config.num_heads = 8;
  config.feed_forward.hidden_dim = 1024;
  config.convolution.reset();
  config.type = EncoderType::kBranchformer;
  config.branches = {ConvolutionType::kCausal, 1024, 31, false, Activation::kIdentity, 31};
  return config;
}

// icefall's layers in the sizes of the Conformer: BasicNorm, DoubleSwish, a subsampling of three
// convolutions.
EncoderConfig ReworkedConformerConfig() {
  EncoderConfig config = AishellConfig();
  config.type = EncoderType::kReworkedConformer;
  config.subsampling.type = SubsamplingType::kConv2d122;
  config.feed_forward.half_steps = false;
  config.feed_forward.activation = Activation::kDoubleSwish;
  config.convolution->norm = ConvolutionNorm::kNone;
  config.convolution->activation = Activation::kDoubleSwish;
  ChunkRpe position;
  position.query.scale_after_bias = false;
  position.order = TableOrder::kAscending;
  config.position = position;
  config.after_norm = false;
  return config;
}

EncoderConfig RotaryConfig() {
  EncoderConfig config = AishellConfig();
  config.position = RotaryPosition();
  return config;
}

// NeMo's local attention, with its usual window.
EncoderConfig LocalAttentionConfig() {
  EncoderConfig config = AishellConfig();
  ChunkRpe position;
  position.window = AttentionWindow{128, 128};
  config.position = position;
  return config;
}

// WeNet's recipe for AISHELL, made causal: layers 3 and 7 have a stride, and the layers up to the
// first of them attend in groups of 3 frames.
EncoderConfig EfficientConformerConfig() {
  EncoderConfig config = AishellConfig();
  config.type = EncoderType::kEfficientConformer;
  config.num_heads = 8;
  config.subsampling.type = SubsamplingType::kConv2d2;
  config.convolution->kernel_size = 15;
  config.position = GroupedUnshifted{{}, {3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}};
  config.strides = {1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1};
  config.strides_divide_kernels = true;
  return config;
}

}  // namespace

std::vector<MeasuredLayers> AllMeasuredLayers() {
  return {{"conformer", AishellConfig()},
          {"e_branchformer", EBranchformerConfig()},
          {"reworked_conformer", ReworkedConformerConfig()},
          {"rotary", RotaryConfig()},
          {"efficient_conformer", EfficientConformerConfig(), {15, 63}},
          {"local_attention", LocalAttentionConfig(), {kUtteranceFrames, 0}}};
}

}  // namespace runnel
