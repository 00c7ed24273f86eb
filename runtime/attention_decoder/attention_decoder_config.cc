#include "runtime/attention_decoder/attention_decoder_config.h"

#include <string>

#include "encoder/encoder_config.h"
#include "encoder/json/json_section.h"

namespace runnel {
namespace {

constexpr int64_t kMaxSize = 1 << 20;
constexpr int64_t kMaxLayers = 1024;

}  // namespace

AttentionDecoderConfig ParseAttentionDecoderConfig(JsonSection section, int64_t model_dim) {
  const auto integer = [&](const char* field, int64_t min, int64_t max) {
    return static_cast<int>(section.Integer(field, min, max));
  };
  AttentionDecoderConfig config;
  config.vocab_size = integer("vocab_size", 2, 1 << 24);
  config.num_heads = integer("num_heads", 1, kMaxSize);
  if (model_dim % config.num_heads != 0) {
    section.Fail("num_heads", "a divisor of the encoder's model_dim " + std::to_string(model_dim));
  }
  config.feed_forward_dim = integer("feed_forward_dim", 1, kMaxSize);
  config.left_layers = integer("left_layers", 1, kMaxLayers);
  config.right_layers = integer("right_layers", 0, kMaxLayers);
  config.norm_first = section.Bool("norm_first");
  config.activation = ParseActivation(&section);
  config.layer_norm_eps = ParseEpsilon(&section, "layer_norm_eps");
  config.sos_id = integer("sos_id", 0, config.vocab_size - 1);
  config.eos_id = integer("eos_id", 0, config.vocab_size - 1);
  section.CheckAllTaken();
  return config;
}

}  // namespace runnel
