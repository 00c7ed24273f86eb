#include "runtime/attention_decoder/attention_decoder_weights.h"

namespace runnel {
namespace {

// The layers `name` + each of `parts`, (d, d), on top of each other.
LinearWeights BindStacked(Weights* weights, const std::string& name,
                          const std::vector<std::string>& parts, int64_t model_dim) {
  std::vector<LinearWeights> layers;
  for (const std::string& part : parts) {
    layers.push_back(BindLinear(weights, name + part, model_dim, model_dim));
  }
  return Stacked(layers);
}

DecoderLayerWeights BindLayer(const AttentionDecoderConfig& config, const std::string& name,
                              int64_t model_dim, Weights* weights) {
  const auto norm = [&](const char* field) {
    return BindLayerNorm(weights, name + field, model_dim, config.layer_norm_eps);
  };
  const std::string self = name + ".self_attn";
  const std::string source = name + ".src_attn";
  const std::string feed_forward = name + ".feed_forward";
  DecoderLayerWeights bound;
  bound.norm_self_attention = norm(".norm1");
  bound.self_queries_keys_values =
      BindStacked(weights, self, {".linear_q", ".linear_k", ".linear_v"}, model_dim);
  bound.self_out = BindLinear(weights, self + ".linear_out", model_dim, model_dim);
  bound.norm_source_attention = norm(".norm2");
  bound.source_queries = BindLinear(weights, source + ".linear_q", model_dim, model_dim);
  bound.source_keys_values = BindStacked(weights, source, {".linear_k", ".linear_v"}, model_dim);
  bound.source_out = BindLinear(weights, source + ".linear_out", model_dim, model_dim);
  bound.norm_feed_forward = norm(".norm3");
  bound.feed_forward.w_1 =
      BindLinear(weights, feed_forward + ".w_1", model_dim, config.feed_forward_dim);
  bound.feed_forward.w_2 =
      BindLinear(weights, feed_forward + ".w_2", config.feed_forward_dim, model_dim);
  return bound;
}

}  // namespace

TransformerDecoderWeights BindTransformerDecoder(const AttentionDecoderConfig& config,
                                                 const std::string& direction, int num_layers,
                                                 int64_t model_dim, Weights* weights) {
  const std::string name = "attention_decoder." + direction;
  TransformerDecoderWeights bound;
  bound.embedding = weights->Take(name + ".embed.weight", {config.vocab_size, model_dim});
  for (int i = 0; i < num_layers; ++i) {
    bound.layers.push_back(
        BindLayer(config, name + ".layers." + std::to_string(i), model_dim, weights));
  }
  if (config.norm_first) {
    bound.after_norm =
        BindLayerNorm(weights, name + ".after_norm", model_dim, config.layer_norm_eps);
  }
  bound.output = BindLinear(weights, name + ".output", model_dim, config.vocab_size);
  return bound;
}

}  // namespace runnel
