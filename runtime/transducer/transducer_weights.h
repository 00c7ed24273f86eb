// Tensors of a transducer, by their names in a model file (models/README.md).
#ifndef RUNNEL_RUNTIME_TRANSDUCER_TRANSDUCER_WEIGHTS_H_
#define RUNNEL_RUNTIME_TRANSDUCER_TRANSDUCER_WEIGHTS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encoder/encoder_weights.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/weights.h"
#include "runtime/transducer/transducer_config.h"

namespace runnel {

struct LstmPredictorWeights {
  Tensor embedding;  // (vocab_size, embedding_dim)
  // Per layer, one matrix for [input, hidden]: (4 hidden_dim, input_dim + hidden_dim). The rows are
  // the input, forget, cell and output gate.
  std::vector<LinearWeights> layers;
  std::optional<LinearWeights> out;  // (output_dim, hidden_dim)
};

struct ConvPredictorWeights {
  Tensor embedding;  // (vocab_size, embedding_dim)
  // The convolution as one matrix for the context, oldest token first:
  // (embedding_dim, context_size * embedding_dim). Zero between groups.
  LinearWeights convolution;
  std::optional<LayerNormWeights> norm;
};

struct EmbeddingPredictorWeights {
  Tensor embedding;      // (vocab_size, embedding_dim)
  Tensor position;       // (num_heads, context_size, embedding_dim), oldest token first
  LinearWeights linear;  // (embedding_dim, embedding_dim)
  LayerNormWeights norm;
};

struct JointWeights {
  std::optional<LinearWeights> encoder;    // (dim, model_dim)
  std::optional<LinearWeights> predictor;  // (dim, predictor output)
  std::optional<LinearWeights> hidden;     // (hidden dim, dim)
  LinearWeights out;                       // (vocab_size + durations, last_dim)
};

// Each takes the tensors that the configuration calls for, and throws as Weights does.
LstmPredictorWeights BindPredictor(const LstmPredictorConfig& config, int64_t vocab_size,
                                   Weights* weights);
ConvPredictorWeights BindPredictor(const ConvPredictorConfig& config, int64_t vocab_size,
                                   Weights* weights);
EmbeddingPredictorWeights BindPredictor(const EmbeddingPredictorConfig& config, int64_t vocab_size,
                                        Weights* weights);
JointWeights BindJoint(const TransducerConfig& config, int64_t model_dim, Weights* weights);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TRANSDUCER_TRANSDUCER_WEIGHTS_H_
