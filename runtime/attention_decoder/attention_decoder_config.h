// The `attention_decoder` section of a model file (models/README.md).
//
// This folder holds the network of a second pass: a Transformer decoder that scores whole
// hypotheses (Vaswani et al. 2017, "Attention is all you need"), and in U2++ a second one that
// reads them from right to left (Wu et al. 2021, "U2++: unified two-pass bidirectional end-to-end
// model for speech recognition").
#ifndef RUNNEL_RUNTIME_ATTENTION_DECODER_ATTENTION_DECODER_CONFIG_H_
#define RUNNEL_RUNTIME_ATTENTION_DECODER_ATTENTION_DECODER_CONFIG_H_

#include <cstdint>

#include "encoder/activation.h"

namespace runnel {

class JsonSection;

struct AttentionDecoderConfig {
  int vocab_size = 0;
  int num_heads = 0;
  int feed_forward_dim = 0;
  int left_layers = 0;     // of the decoder from left to right
  int right_layers = 0;    // of the decoder from right to left; 0: there is none
  bool norm_first = true;  // x + f(norm(x)), and a norm after the last layer; false: norm(x + f(x))
  Activation activation = Activation::kRelu;
  double layer_norm_eps = 0;
  int sos_id = 0;  // first input
  int eos_id = 0;  // last output
};

// model_dim: of the encoder frames. Throws std::runtime_error as JsonSection does.
AttentionDecoderConfig ParseAttentionDecoderConfig(JsonSection section, int64_t model_dim);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ATTENTION_DECODER_ATTENTION_DECODER_CONFIG_H_
