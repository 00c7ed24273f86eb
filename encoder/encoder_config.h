// The encoder's architecture as the model file states it (its `encoder` section).
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools. models/README.md specifies it.
#ifndef RUNNEL_ENCODER_ENCODER_CONFIG_H_
#define RUNNEL_ENCODER_ENCODER_CONFIG_H_

#include "encoder/position/position_config.h"

namespace runnel {

class JsonSection;

// Which of attention's linear layers have a bias.
struct AttentionBias {
  bool query = true;
  bool key = true;
  bool value = true;
  bool out = true;
};

// Plain sizes; what has only one value in this format version (activation, norms, kind of
// convolution) is checked when parsed and has no field.
struct EncoderConfig {
  int input_dim = 0;  // feature bins per frame
  int model_dim = 0;  // d
  int num_layers = 0;
  int num_heads = 0;  // divides model_dim
  int feed_forward_dim = 0;
  bool global_cmvn = true;  // features are normalised by encoder.global_cmvn.{mean,istd}
  bool scale_input = true;  // subsampled input is multiplied by sqrt(model_dim)
  PositionConfig position;
  AttentionBias attention_bias;
  int conv_kernel_size = 0;  // K, taps of the causal depthwise convolution, encoder frames
  double layer_norm_eps = 1e-5;

  int head_dim() const { return model_dim / num_heads; }  // d_k
  AttentionSizes attention_sizes() const { return {model_dim, num_heads}; }
};

// Throws std::runtime_error naming the field, its value and what was expected.
EncoderConfig ParseEncoderConfig(JsonSection* section);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ENCODER_CONFIG_H_
