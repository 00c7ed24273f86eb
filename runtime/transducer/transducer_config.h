// The `transducer` section of a model file (models/README.md).
//
// This folder holds the network of a transducer without its encoder: the predictor, which reads the
// tokens so far, and the joint network, which scores the next token for an encoder frame. Graves
// 2012, "Sequence transduction with recurrent neural networks"; TDT: Xu et al. 2023, "Efficient
// sequence transduction by jointly predicting tokens and durations".
#ifndef RUNNEL_RUNTIME_TRANSDUCER_TRANSDUCER_CONFIG_H_
#define RUNNEL_RUNTIME_TRANSDUCER_TRANSDUCER_CONFIG_H_

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "encoder/activation.h"

namespace runnel {

class JsonSection;

// Embedding, LSTM layers, and a linear layer where there is an output_dim.
struct LstmPredictorConfig {
  int64_t embedding_dim = 0;
  int64_t hidden_dim = 0;
  int64_t num_layers = 0;
  std::optional<int64_t> output_dim;
};

// A convolution over the embeddings of the last context_size tokens, layer norm where there is an
// epsilon, activation (Ghodsi et al. 2020, "RNN-transducer with stateless prediction network").
struct ConvPredictorConfig {
  int64_t embedding_dim = 0;
  int64_t context_size = 0;  // tokens
  int64_t groups = 0;
  bool bias = false;
  std::optional<double> norm_epsilon;
  Activation activation = Activation::kRelu;
};

// Embeddings of the last context_size tokens, weighted by their products with learned vectors
// (Botros et al. 2021, "Tied & reduced RNN-T decoder"; as in WeNet).
struct EmbeddingPredictorConfig {
  int64_t embedding_dim = 0;
  int64_t context_size = 0;  // tokens
  int64_t num_heads = 0;
  double norm_epsilon = 0;
  Activation activation = Activation::kSwish;
};

using PredictorConfig =
    std::variant<LstmPredictorConfig, ConvPredictorConfig, EmbeddingPredictorConfig>;

// Width of the predictor's output.
int64_t OutputDim(const PredictorConfig& predictor);

// A linear layer between the sum of the inputs and the activation.
struct JointHiddenConfig {
  int64_t dim = 0;                                      // of its output
  Activation input_activation = Activation::kIdentity;  // before it
};

struct JointConfig {
  int64_t dim = 0;            // of the sum of the inputs
  bool input_linear = false;  // of encoder frames and of predictor outputs
  std::optional<JointHiddenConfig> hidden;
  Activation activation = Activation::kRelu;

  // Width of the input of the last layer.
  int64_t last_dim() const { return hidden ? hidden->dim : dim; }
};

// How beam search spends labels on frames.
enum class TransducerBeam {
  kTimeSynchronous,  // several tokens per frame, and a blank that ends it
  kModified,  // one label per frame; the beam is cut, then equal sequences are merged (icefall)
  kPrefix,    // one label per frame; equal sequences are merged, then the beam is cut (WeNet)
};

struct TransducerConfig {
  int vocab_size = 0;  // the blank included
  int blank_id = 0;
  PredictorConfig predictor;
  JointConfig joint;
  std::vector<int64_t> durations;  // encoder frames, of TDT, each once; otherwise empty
  int max_symbols = 0;  // most tokens of one encoder frame, in greedy and time-synchronous search
  TransducerBeam beam = TransducerBeam::kTimeSynchronous;  // with durations always this

  int num_outputs() const { return vocab_size + static_cast<int>(durations.size()); }
};

// Throws std::runtime_error as JsonSection does.
TransducerConfig ParseTransducerConfig(JsonSection section);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TRANSDUCER_TRANSDUCER_CONFIG_H_
