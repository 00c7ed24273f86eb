#include "runtime/transducer/transducer_weights.h"

#include <string>
#include <utility>
#include <vector>

namespace runnel {
namespace {

constexpr char kPredictor[] = "transducer.predictor.";

Tensor BindEmbedding(int64_t vocab_size, int64_t dim, Weights* weights) {
  return weights->Take(std::string(kPredictor) + "embedding.weight", {vocab_size, dim});
}

// The matrix (outputs, taps * outputs) of a grouped convolution over as many channels as it has
// outputs. `weights`: (outputs, inputs of a group, taps), whose values are `values`.
template <class T>
Tensor GroupedMatrix(const Tensor& weights, const T* values) {
  const int64_t dim = weights.size(0);
  const int64_t group_dim = weights.size(1);
  const int64_t num_taps = weights.size(2);
  std::vector<T> matrix(static_cast<size_t>(dim * num_taps * dim));
  for (int64_t output = 0; output < dim; ++output) {
    const int64_t first_input = output / group_dim * group_dim;  // of the output's group
    for (int64_t tap = 0; tap < num_taps; ++tap) {
      T* to = matrix.data() + (output * num_taps + tap) * dim + first_input;
      const T* from = values + output * group_dim * num_taps + tap;
      for (int64_t i = 0; i < group_dim; ++i) to[i] = from[i * num_taps];
    }
  }
  return {{dim, num_taps * dim}, std::move(matrix)};
}

}  // namespace

LstmPredictorWeights BindPredictor(const LstmPredictorConfig& config, int64_t vocab_size,
                                   Weights* weights) {
  LstmPredictorWeights bound;
  bound.embedding = BindEmbedding(vocab_size, config.embedding_dim, weights);
  const int64_t gates = 4 * config.hidden_dim;
  for (int64_t i = 0; i < config.num_layers; ++i) {
    const std::string name = kPredictor + ("lstm." + std::to_string(i));
    const int64_t input_dim = i == 0 ? config.embedding_dim : config.hidden_dim;
    const std::string input = name + ".weight_ih";
    const std::string hidden = name + ".weight_hh";
    LinearWeights layer;
    layer.name = MergedName({input, hidden});
    layer.weight = Concatenated({weights->TakeMatrix(input, {gates, input_dim}),
                                 weights->TakeMatrix(hidden, {gates, config.hidden_dim})},
                                1);
    layer.bias = weights->Take(name + ".bias", {gates});
    bound.layers.push_back(layer);
  }
  if (config.output_dim.has_value()) {
    bound.out =
        BindLinear(weights, std::string(kPredictor) + "out", config.hidden_dim, *config.output_dim);
  }
  return bound;
}

ConvPredictorWeights BindPredictor(const ConvPredictorConfig& config, int64_t vocab_size,
                                   Weights* weights) {
  const int64_t dim = config.embedding_dim;
  ConvPredictorWeights bound;
  bound.embedding = BindEmbedding(vocab_size, dim, weights);
  const std::string name = std::string(kPredictor) + "conv";
  bound.convolution.name = name + ".weight";
  const Tensor taps =
      weights->Take(bound.convolution.name, {dim, dim / config.groups, config.context_size});
  bound.convolution.weight = taps.type() == DataType::kFloat64
                                 ? GroupedMatrix(taps, taps.float64())
                                 : GroupedMatrix(taps, taps.float32());
  if (config.bias) bound.convolution.bias = weights->Take(name + ".bias", {dim});
  if (config.norm_epsilon.has_value()) {
    bound.norm =
        BindLayerNorm(weights, std::string(kPredictor) + "norm", dim, *config.norm_epsilon);
  }
  return bound;
}

EmbeddingPredictorWeights BindPredictor(const EmbeddingPredictorConfig& config, int64_t vocab_size,
                                        Weights* weights) {
  const int64_t dim = config.embedding_dim;
  EmbeddingPredictorWeights bound;
  bound.embedding = BindEmbedding(vocab_size, dim, weights);
  bound.position = Transposed(weights->Take(std::string(kPredictor) + "position.weight",
                                            {config.num_heads, dim, config.context_size}));
  bound.linear = BindLinear(weights, std::string(kPredictor) + "ffn", dim, dim);
  bound.norm = BindLayerNorm(weights, std::string(kPredictor) + "norm", dim, config.norm_epsilon);
  return bound;
}

JointWeights BindJoint(const TransducerConfig& config, int64_t model_dim, Weights* weights) {
  const std::string name = "transducer.joint.";
  const int64_t dim = config.joint.dim;
  JointWeights bound;
  if (config.joint.input_linear) {
    bound.encoder = BindLinear(weights, name + "encoder", model_dim, dim);
    bound.predictor = BindLinear(weights, name + "predictor", OutputDim(config.predictor), dim);
  }
  const auto& hidden = config.joint.hidden;
  if (hidden) bound.hidden = BindLinear(weights, name + "hidden", dim, hidden->dim);
  bound.out = BindLinear(weights, name + "out", config.joint.last_dim(), config.num_outputs());
  return bound;
}

}  // namespace runnel
