#include "runtime/transducer/transducer_weights.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <string>

namespace runnel {
namespace {

constexpr char kPredictor[] = "transducer.predictor.";

at::Tensor BindEmbedding(int64_t vocab_size, int64_t dim, Weights* weights) {
  return weights->Take(std::string(kPredictor) + "embedding.weight", {vocab_size, dim});
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
    layer.weight = at::cat({weights->TakeMatrix(input, {gates, input_dim}),
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
  const int64_t group_dim = dim / config.groups;
  ConvPredictorWeights bound;
  bound.embedding = BindEmbedding(vocab_size, dim, weights);
  const std::string name = std::string(kPredictor) + "conv";
  bound.convolution.name = name + ".weight";
  const at::Tensor taps =
      weights->Take(bound.convolution.name, {dim, group_dim, config.context_size});
  // matrix[o][k][i] = taps[o][i - first input of o's group][k]
  at::Tensor matrix = at::zeros({dim, config.context_size, dim}, taps.options());
  for (int64_t group = 0; group < config.groups; ++group) {
    const int64_t first = group * group_dim;
    matrix.narrow(0, first, group_dim)
        .narrow(2, first, group_dim)
        .copy_(taps.narrow(0, first, group_dim).transpose(1, 2));
  }
  bound.convolution.weight = matrix.reshape({dim, config.context_size * dim});
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
  bound.position = weights
                       ->Take(std::string(kPredictor) + "position.weight",
                              {config.num_heads, dim, config.context_size})
                       .transpose(1, 2)
                       .contiguous();
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
  if (config.joint.hidden_linear) bound.hidden = BindLinear(weights, name + "hidden", dim, dim);
  bound.out = BindLinear(weights, name + "out", dim, config.num_outputs());
  return bound;
}

}  // namespace runnel
