// Tensors of an attention decoder, by their names in a model file (models/README.md).
#ifndef RUNNEL_RUNTIME_ATTENTION_DECODER_ATTENTION_DECODER_WEIGHTS_H_
#define RUNNEL_RUNTIME_ATTENTION_DECODER_ATTENTION_DECODER_WEIGHTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encoder/encoder_weights.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/weights.h"
#include "runtime/attention_decoder/attention_decoder_config.h"

namespace runnel {

// d: model_dim. Layers that read the same input are stacked to one.
struct DecoderLayerWeights {
  LayerNormWeights norm_self_attention;
  LinearWeights self_queries_keys_values;  // (3 d, d)
  LinearWeights self_out;                  // (d, d)
  LayerNormWeights norm_source_attention;
  LinearWeights source_queries;      // (d, d)
  LinearWeights source_keys_values;  // (2 d, d), of encoder frames
  LinearWeights source_out;          // (d, d)
  LayerNormWeights norm_feed_forward;
  FeedForwardWeights feed_forward;
};

// One direction.
struct TransformerDecoderWeights {
  Tensor embedding;  // (vocab_size, d)
  std::vector<DecoderLayerWeights> layers;
  std::optional<LayerNormWeights> after_norm;  // with norm_first
  LinearWeights output;                        // (vocab_size, d)
};

// The tensors named attention_decoder.`direction`.*, where `direction` is left or right. Throws as
// Weights does.
TransformerDecoderWeights BindTransformerDecoder(const AttentionDecoderConfig& config,
                                                 const std::string& direction, int num_layers,
                                                 int64_t model_dim, Weights* weights);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ATTENTION_DECODER_ATTENTION_DECODER_WEIGHTS_H_
