#include "encoder/encoder_config.h"

#include "encoder/json_section.h"

namespace runnel {
namespace {

// Far above any model, low enough that products of two sizes stay within 64 bits.
constexpr int64_t kMaxSize = 1 << 20;

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

EncoderConfig ParseEncoderConfig(JsonSection* section) {
  EncoderConfig config;
  section->Constant("type", "conformer");
  config.input_dim = static_cast<int>(section->Integer("input_dim", 7, kMaxSize));
  config.model_dim = static_cast<int>(section->Integer("model_dim", 2, kMaxSize));
  config.num_layers = static_cast<int>(section->Integer("num_layers", 1, 1024));
  config.num_heads = static_cast<int>(section->Integer("num_heads", 1, kMaxSize));
  config.feed_forward_dim = static_cast<int>(section->Integer("feed_forward_dim", 1, kMaxSize));
  section->Constant("subsampling", "conv2d4");
  config.global_cmvn = section->Bool("global_cmvn");
  config.scale_input = section->Bool("scale_input");

  JsonSection position = section->Section("position");
  config.position = ParsePosition(&position);
  JsonSection attention_bias = section->Section("attention_bias");
  config.attention_bias = ParseAttentionBias(&attention_bias);

  JsonSection convolution = section->Section("convolution");
  convolution.Constant("type", "causal");
  config.conv_kernel_size = static_cast<int>(convolution.Integer("kernel_size", 1, 4096));
  convolution.Constant("norm", "layer_norm");
  convolution.Constant("left_padding", "zero");
  convolution.CheckAllTaken();

  section->Constant("activation", "swish");
  config.layer_norm_eps = section->Number("layer_norm_eps");
  if (!(config.layer_norm_eps > 0 && config.layer_norm_eps < 1)) {
    section->Fail("layer_norm_eps", "a number between 0 and 1");
  }
  if (config.model_dim % config.num_heads != 0) {
    section->Fail("num_heads", "a divisor of model_dim " + std::to_string(config.model_dim));
  }
  if (config.model_dim % 2 != 0) section->Fail("model_dim", "an even number");
  section->CheckAllTaken();
  return config;
}

}  // namespace runnel
