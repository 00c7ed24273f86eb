#include "tests/support/random_transducer.h"

#include <optional>
#include <random>
#include <stdexcept>

#include "encoder/cpu/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "tests/support/random_encoder.h"

namespace runnel::testing {
namespace {

PredictorConfig SmallPredictor(const std::string& name) {
  if (name == "lstm1") return LstmPredictorConfig{5, 7, 1, std::nullopt};
  if (name == "lstm2") return LstmPredictorConfig{5, 7, 2, 9};
  if (name == "conv") return ConvPredictorConfig{6, 3, 2, true, 1e-5, Activation::kRelu};
  if (name == "embedding") return EmbeddingPredictorConfig{6, 3, 2, 1e-5, Activation::kSwish};
  throw std::invalid_argument("no predictor is called " + name);
}

// Strong biases would make all frames alike; strong outputs make decisions clear.
class SharpWeights final : public RandomWeightSource {
 public:
  using RandomWeightSource::RandomWeightSource;

  Tensor Take(const std::string& name, const Shape& shape) override {
    const Tensor tensor = RandomWeightSource::Take(name, shape);
    return name == "transducer.joint.out.weight" ? Scaled(tensor, 4) : tensor;
  }
};

}  // namespace

TransducerConfig SmallTransducer(const std::string& predictor, int vocab_size,
                                 const std::vector<int64_t>& durations) {
  TransducerConfig config;
  config.vocab_size = vocab_size;
  config.blank_id = predictor == "lstm1" ? vocab_size - 1 : 0;
  config.predictor = SmallPredictor(predictor);
  config.joint = {11, true, std::nullopt,
                  predictor == "lstm1" ? Activation::kRelu : Activation::kTanh};
  if (predictor == "conv") config.joint.hidden = JointHiddenConfig{11, Activation::kIdentity};
  config.durations = durations;
  config.max_symbols = 3;
  return config;
}

std::unique_ptr<const Transducer> RandomTransducer(const TransducerConfig& config, uint64_t seed,
                                                   kernels::MatmulType matmul_type) {
  SharpWeights weights(DataType::kFloat32, seed);
  EncoderConfig encoder = SmallConfig();
  encoder.num_layers = 0;  // no positions are needed
  cpu::Options options;
  options.matmul_type = matmul_type;
  const std::unique_ptr<const EncoderBackend> backend = MakeCpuBackend(encoder, &weights, options);
  return std::make_unique<const Transducer>(config, kTransducerModelDim, *backend, &weights);
}

Matrix RandomEncoderRows(int64_t num_rows, uint64_t seed, double scale) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, scale);
  Matrix matrix(DataType::kFloat32, kTransducerModelDim, num_rows);
  for (int64_t i = 0; i < num_rows * kTransducerModelDim; ++i) {
    matrix.rows().float32()[i] = static_cast<float>(normal(random));
  }
  return matrix;
}

}  // namespace runnel::testing
