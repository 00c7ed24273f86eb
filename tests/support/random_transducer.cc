#include "tests/support/random_transducer.h"

#include <ATen/TensorOperators.h>

#include <random>
#include <stdexcept>

#include "encoder/cpu/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/libtorch/backend.h"
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

  at::Tensor Take(const std::string& name, const std::vector<int64_t>& shape) override {
    const at::Tensor tensor = RandomWeightSource::Take(name, shape);
    return name == "transducer.joint.out.weight" ? tensor * 4.0 : tensor;
  }
};

std::unique_ptr<const EncoderBackend> MakeBackend(TransducerBackend backend, Weights* weights) {
  EncoderConfig config = SmallConfig();
  config.num_layers = 0;  // no positions are needed
  if (backend == TransducerBackend::kLibTorchFloat32 || backend == TransducerBackend::kFloat64) {
    return MakeLibTorchBackend(config, weights);
  }
  cpu::Options options;
  if (backend == TransducerBackend::kCpuBfloat16) {
    options.matmul_type = kernels::MatmulType::kBfloat16;
  } else if (backend == TransducerBackend::kCpuInt8) {
    options.matmul_type = kernels::MatmulType::kInt8;
  }
  return MakeCpuBackend(config, weights, options);
}

}  // namespace

TransducerConfig SmallTransducer(const std::string& predictor, int vocab_size,
                                 const std::vector<int64_t>& durations) {
  TransducerConfig config;
  config.vocab_size = vocab_size;
  config.blank_id = predictor == "lstm1" ? vocab_size - 1 : 0;
  config.predictor = SmallPredictor(predictor);
  config.joint = {11, true, predictor == "conv",
                  predictor == "lstm1" ? Activation::kRelu : Activation::kTanh};
  config.durations = durations;
  config.max_symbols = 3;
  return config;
}

std::unique_ptr<const Transducer> RandomTransducer(const TransducerConfig& config,
                                                   TransducerBackend backend, uint64_t seed) {
  SharpWeights weights(backend == TransducerBackend::kFloat64 ? at::kDouble : at::kFloat, seed);
  const std::unique_ptr<const EncoderBackend> made = MakeBackend(backend, &weights);
  return std::make_unique<const Transducer>(config, kTransducerModelDim, *made, &weights);
}

Matrix RandomEncoderRows(int64_t num_rows, uint64_t seed, DataType type, double scale) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, scale);
  Matrix matrix(type, kTransducerModelDim, num_rows);
  for (int64_t i = 0; i < num_rows * kTransducerModelDim; ++i) {
    const auto value = static_cast<float>(normal(random));  // the same in both types
    if (type == DataType::kFloat64) {
      matrix.rows().float64()[i] = static_cast<double>(value);
    } else {
      matrix.rows().float32()[i] = value;
    }
  }
  return matrix;
}

}  // namespace runnel::testing
