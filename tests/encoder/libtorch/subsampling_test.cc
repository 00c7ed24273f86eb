// conv2d4 against its two convolutions written out; which feature frames an encoder frame reads.
#include "encoder/libtorch/subsampling.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "encoder/encoder_weights.h"
#include "encoder/libtorch/tensor_rows.h"
#include "tests/support/arithmetic.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::FormulaTolerance;

double RelativeError(const at::Tensor& actual, const at::Tensor& expected) {
  return testing::RelativeError(libtorch::View(actual.contiguous()),
                                libtorch::View(expected.contiguous()));
}

at::Tensor RandomFeatures(const EncoderConfig& config, int64_t num_frames, uint64_t seed) {
  return libtorch::View(testing::RandomFeatures(config, num_frames, seed).rows()).clone();
}

constexpr char kName[] = "encoder.embed";

EncoderConfig Config(int input_dim) {
  EncoderConfig config = testing::SmallConfig();
  config.input_dim = input_dim;
  return config;
}

std::map<std::string, Tensor> EmbedWeights(const EncoderConfig& config) {
  std::map<std::string, Tensor> weights;
  for (const auto& [name, tensor] : testing::RandomWeights(config, 5)) {
    if (name.rfind(std::string(kName) + ".", 0) == 0) weights[name] = tensor;
  }
  return weights;
}

libtorch::Subsampling MakeModule(const EncoderConfig& config, DataType type) {
  Weights weights(EmbedWeights(config), type, "random weights");
  libtorch::Subsampling module(BindSubsampling(config, &weights), config);
  weights.CheckAllTaken();
  return module;
}

int64_t NumEncoderFrames(int64_t num_frames) {
  return SubsamplingGeometry(Config(19).subsampling).NumEncoderFrames(num_frames);
}

// A whole recording.
at::Tensor Whole(const libtorch::Subsampling& module, const at::Tensor& features) {
  return module.Forward(features, 0, {0, NumEncoderFrames(features.size(0))}, features.size(0));
}

// (channels, T, F) -> (outputs, (T-1)/2, (F-1)/2): 3x3, stride 2, no padding, ReLU. Float64.
at::Tensor Convolve(const at::Tensor& image, const at::Tensor& weight, const at::Tensor& bias) {
  const int64_t channels = image.size(0);
  const int64_t bins = image.size(2);
  const int64_t out_frames = (image.size(1) - 1) / 2;
  const int64_t out_bins = (bins - 1) / 2;
  at::Tensor result = at::zeros({weight.size(0), out_frames, out_bins}, at::kDouble);
  double* out = result.data_ptr<double>();
  for (int64_t o = 0; o < weight.size(0); ++o) {
    for (int64_t t = 0; t < out_frames; ++t) {
      for (int64_t f = 0; f < out_bins; ++f) {
        double sum = bias.data_ptr<double>()[o];
        for (int64_t c = 0; c < channels; ++c) {
          for (int64_t i = 0; i < 3; ++i) {
            for (int64_t j = 0; j < 3; ++j) {
              sum += weight.data_ptr<double>()[((o * channels + c) * 3 + i) * 3 + j] *
                     image.data_ptr<double>()[(c * image.size(1) + 2 * t + i) * bins + 2 * f + j];
            }
          }
        }
        *out++ = std::max(sum, 0.0);
      }
    }
  }
  return result;
}

// (T, input_dim) -> (T', d), float64.
at::Tensor ByFormula(const EncoderConfig& config, const at::Tensor& features) {
  const auto weights = EmbedWeights(config);
  const auto get = [&](const std::string& name) {
    return libtorch::View(weights.at(std::string(kName) + "." + name)).to(at::kDouble);
  };
  at::Tensor image = features.to(at::kDouble).unsqueeze(0).contiguous();
  image = Convolve(image, get("conv.0.weight"), get("conv.0.bias"));
  image = Convolve(image, get("conv.2.weight"), get("conv.2.bias"));  // (d, T', bins)
  // Flattened channel by channel.
  const at::Tensor rows = image.transpose(0, 1).contiguous().view({image.size(1), -1});
  return at::linear(rows, get("out.0.weight"), get("out.0.bias"));
}

class SubsamplingTest : public ::testing::TestWithParam<DataType> {
 protected:
  at::ScalarType dtype() const { return libtorch::ScalarTypeOf(GetParam()); }

 private:
  const c10::InferenceMode guard_;  // as in the LibTorch backend
};

INSTANTIATE_TEST_SUITE_P(Precisions, SubsamplingTest,
                         ::testing::Values(DataType::kFloat32, DataType::kFloat64),
                         [](const auto& precision) {
                           return testing::LibTorchArithmetic(precision.param).name;
                         });

TEST_P(SubsamplingTest, IsTheFormula) {
  for (const int input_dim : {7, 8, 9, 10, 19, 40}) {
    const EncoderConfig config = Config(input_dim);
    const libtorch::Subsampling module = MakeModule(config, GetParam());
    for (const int64_t frames : {7, 8, 9, 10, 11, 30}) {
      SCOPED_TRACE(::testing::Message() << input_dim << " bins, " << frames << " frames");
      const at::Tensor features = RandomFeatures(config, frames, 1);
      const at::Tensor rows = Whole(module, features.to(dtype()));
      EXPECT_EQ(rows.size(0), NumEncoderFrames(frames));
      EXPECT_LE(RelativeError(rows, ByFormula(config, features)), FormulaTolerance(GetParam()));
    }
  }
}

TEST_P(SubsamplingTest, LongerThanTheInternalBlock) {
  const EncoderConfig config = Config(19);
  const libtorch::Subsampling module = MakeModule(config, GetParam());
  for (const int64_t encoder_frames : {256, 257, 700}) {
    const at::Tensor features = RandomFeatures(config, 4 * encoder_frames + 5, 2);
    const at::Tensor whole = Whole(module, features.to(dtype()));
    ASSERT_EQ(whole.size(0), encoder_frames);
    EXPECT_LE(RelativeError(whole, ByFormula(config, features)), FormulaTolerance(GetParam()));
  }
}

TEST_P(SubsamplingTest, EncoderFrameReadsSevenFrames) {
  const EncoderConfig config = Config(19);
  const libtorch::Subsampling module = MakeModule(config, GetParam());
  const at::Tensor features = RandomFeatures(config, 31, 3).to(dtype());
  const at::Tensor rows = Whole(module, features);
  for (int64_t changed = 0; changed < features.size(0); ++changed) {
    at::Tensor other = features.clone();
    other.select(0, changed) += 1;
    const at::Tensor other_rows = Whole(module, other);
    for (int64_t t = 0; t < rows.size(0); ++t) {
      const bool reads = changed >= t * 4 && changed <= t * 4 + 6;
      EXPECT_EQ(at::equal(rows[t], other_rows[t]), !reads)
          << "encoder frame " << t << ", feature frame " << changed;
    }
  }
}

}  // namespace
}  // namespace runnel
