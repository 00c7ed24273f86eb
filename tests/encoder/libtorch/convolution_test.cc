// The causal convolution against its sum written out, whole and in pieces.
#include "encoder/libtorch/convolution.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "encoder/encoder_weights.h"
#include "encoder/libtorch/tensor_rows.h"
#include "tests/support/arithmetic.h"
#include "tests/support/error_message.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using libtorch::Copy;
using testing::FormulaTolerance;
using testing::OneChunk;

double RelativeError(const at::Tensor& actual, const at::Tensor& expected) {
  return testing::RelativeError(libtorch::View(actual.contiguous()),
                                libtorch::View(expected.contiguous()));
}

constexpr char kName[] = "encoder.encoders.0.conv_module";

EncoderConfig Config(int kernel_size) {
  EncoderConfig config = testing::SmallConfig();
  config.convolution->kernel_size = kernel_size;
  return config;
}

at::Tensor RandomRows(int64_t rows, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randn({rows, Config(1).model_dim}, generator, at::TensorOptions(at::kDouble));
}

// The module and its definition.
class Reference {
 public:
  Reference(int kernel_size, DataType type) : kernel_size_(kernel_size), type_(type) {
    for (const auto& [name, tensor] : testing::RandomWeights(Config(kernel_size), 3)) {
      if (name.rfind(std::string(kName) + ".", 0) == 0) weights_[name] = tensor;
    }
    Weights weights(weights_, type, "random weights");
    const EncoderConfig config = Config(kernel_size);
    convolution_.emplace(BindConvolution(config, 0, kName, &weights), nullptr, *config.convolution);
    weights.CheckAllTaken();
  }

  const libtorch::Convolution& convolution() const { return *convolution_; }

  LayerState State() const {
    const RowRing empty(Config(1).model_dim, type_);
    LayerState state{empty, empty, empty};
    convolution_->Initialize(&state);
    return state;
  }

  // (T, d) before the gate to (T, d) after it.
  at::Tensor Gated(const at::Tensor& x) const {
    const int64_t dim = x.size(1);
    const at::Tensor both =
        at::linear(x, Get("pointwise_conv1.weight").squeeze(2), Get("pointwise_conv1.bias"));
    return both.narrow(1, 0, dim) * at::sigmoid(both.narrow(1, dim, dim));
  }

  // A whole stream at once: (T, d) -> (T, d), float64.
  at::Tensor Forward(const at::Tensor& x) const {
    const int64_t dim = x.size(1);
    const at::Tensor gated = Gated(x).contiguous();
    const at::Tensor kernel = Get("depthwise_conv.weight");
    const at::Tensor bias = Get("depthwise_conv.bias");
    at::Tensor filtered = at::zeros(x.sizes(), at::kDouble);
    for (int64_t t = 0; t < x.size(0); ++t) {
      for (int64_t n = 0; n < dim; ++n) {
        double sum = bias.data_ptr<double>()[n];
        for (int64_t tap = 0; tap < kernel_size_; ++tap) {
          const int64_t source = t - (kernel_size_ - 1) + tap;
          if (source < 0) continue;
          sum += kernel.data_ptr<double>()[n * kernel_size_ + tap] *
                 gated.data_ptr<double>()[source * dim + n];
        }
        filtered.data_ptr<double>()[t * dim + n] = sum;
      }
    }
    const at::Tensor normed = at::layer_norm(filtered, {dim}, Get("norm.weight"), Get("norm.bias"),
                                             Config(1).convolution->norm_epsilon);
    return at::linear(normed * at::sigmoid(normed), Get("pointwise_conv2.weight").squeeze(2),
                      Get("pointwise_conv2.bias"));
  }

 private:
  at::Tensor Get(const std::string& name) const {
    return libtorch::View(weights_.at(std::string(kName) + "." + name)).to(at::kDouble);
  }

  int64_t kernel_size_;
  std::map<std::string, Tensor> weights_;
  std::optional<libtorch::Convolution> convolution_;
  DataType type_;
};

class ConvolutionTest : public ::testing::TestWithParam<DataType> {
 protected:
  at::ScalarType dtype() const { return libtorch::ScalarTypeOf(GetParam()); }
  double tolerance() const { return FormulaTolerance(GetParam()); }

 private:
  const c10::InferenceMode guard_;  // as in the LibTorch backend
};

INSTANTIATE_TEST_SUITE_P(Precisions, ConvolutionTest,
                         ::testing::Values(DataType::kFloat32, DataType::kFloat64),
                         [](const auto& precision) {
                           return testing::LibTorchArithmetic(precision.param).name;
                         });

TEST_P(ConvolutionTest, IsTheFormulaInPiecesOfAnyLength) {
  for (const int kernel_size : {1, 2, 5, 6, 31}) {
    const Reference reference(kernel_size, GetParam());
    const at::Tensor x = RandomRows(47, 1);
    const at::Tensor expected = reference.Forward(x);
    for (const int64_t piece : {1, 2, 3, 7, 16, 47}) {
      SCOPED_TRACE(::testing::Message() << "K " << kernel_size << ", pieces of " << piece);
      LayerState state = reference.State();
      std::vector<at::Tensor> outputs;
      for (int64_t first = 0; first < x.size(0); first += piece) {
        const int64_t rows = std::min(piece, x.size(0) - first);
        outputs.push_back(reference.convolution().Forward(x.narrow(0, first, rows).to(dtype()),
                                                          {OneChunk(0, rows, first, &state, -1)}));
        EXPECT_EQ(state.cnn_cache.size(), kernel_size - 1);
      }
      EXPECT_LE(RelativeError(at::cat(outputs), expected), tolerance());
    }
  }
}

TEST_P(ConvolutionTest, ANegativeVarianceIsRefused) {
  EncoderConfig config = Config(5);
  config.convolution->norm = ConvolutionNorm::kBatchNorm;
  std::map<std::string, Tensor> all = testing::RandomWeights(config, 3);
  const std::string variance = std::string(kName) + ".norm.running_var";
  const auto load = [&] {
    Weights weights(all, GetParam(), "m.pt");
    BindConvolution(config, 0, kName, &weights);
  };
  EXPECT_NO_THROW(load());
  std::vector<float> values = Float32Values(all.at(variance));
  values[2] = -0.25F;
  all.at(variance) = Tensor(all.at(variance).shape(), std::move(values));
  EXPECT_EQ(testing::ErrorMessage<std::runtime_error>(load),
            "m.pt: tensor " + variance + " holds a negative value, expected a variance");
}

TEST_P(ConvolutionTest, CacheIsTheLastGatedFrames) {
  const Reference reference(6, GetParam());
  const at::Tensor x = RandomRows(9, 2);
  LayerState state = reference.State();
  EXPECT_TRUE(at::equal(Copy(state.cnn_cache), at::zeros({5, x.size(1)}, dtype())));
  reference.convolution().Forward(x.narrow(0, 0, 2).to(dtype()), {OneChunk(0, 2, 0, &state, -1)});
  const at::Tensor gated = reference.Gated(x);
  EXPECT_LE(RelativeError(Copy(state.cnn_cache),
                          at::cat({at::zeros({3, x.size(1)}, at::kDouble), gated.narrow(0, 0, 2)})),
            tolerance());
  reference.convolution().Forward(x.narrow(0, 2, 7).to(dtype()), {OneChunk(0, 7, 2, &state, -1)});
  EXPECT_LE(RelativeError(Copy(state.cnn_cache), gated.narrow(0, 4, 5)), tolerance());
}

TEST_P(ConvolutionTest, SegmentsOfABatchDoNotMix) {
  const Reference reference(6, GetParam());
  const std::vector<int64_t> lengths = {1, 9, 4};
  std::vector<at::Tensor> inputs;
  std::vector<LayerState> states(lengths.size(), reference.State());
  std::vector<Segment> segments;
  int64_t row = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    inputs.push_back(RandomRows(lengths[i], 10 + i));
    segments.push_back(OneChunk(row, lengths[i], 0, &states[i], -1));
    row += lengths[i];
  }
  const at::Tensor y = reference.convolution().Forward(at::cat(inputs).to(dtype()), segments);
  for (size_t i = 0; i < lengths.size(); ++i) {
    EXPECT_LE(
        RelativeError(y.narrow(0, segments[i].first_row, lengths[i]), reference.Forward(inputs[i])),
        tolerance());
  }
}

}  // namespace
}  // namespace runnel
