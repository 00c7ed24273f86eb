// The frame arithmetic of every kind of subsampling, and the padded kinds against padding by hand.
#include "encoder/subsampling_geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "encoder/backend.h"
#include "encoder/encoder_weights.h"
#include "encoder/rows.h"
#include "tests/support/arithmetic.h"
#include "tests/support/matrices.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"

namespace runnel {
namespace {

using testing::Arithmetic;
using testing::RandomFeatures;
using testing::RelativeError;

TEST(SubsamplingGeometryTest, RatesAndContexts) {
  struct Expected {
    SubsamplingConfig config;
    int64_t rate, left_overlap, right_context;
  };
  // WeNet's rate and right_context; for NeMo's kinds 1 + 2 (+ 4) frames of padding 1 before, and
  // twice that when all padding but one is before.
  for (const Expected& expected : {Expected{{SubsamplingType::kConv1d2}, 2, 0, 4},
                                   Expected{{SubsamplingType::kConv2dOnce2}, 2, 0, 2},
                                   Expected{{SubsamplingType::kConv2d2}, 2, 0, 6},
                                   Expected{{SubsamplingType::kConv2d4}, 4, 0, 6},
                                   Expected{{SubsamplingType::kConv2d6}, 6, 0, 10},
                                   Expected{{SubsamplingType::kConv2d8}, 8, 0, 14},
                                   Expected{{SubsamplingType::kConv2d121}, 2, 1, 7},
                                   Expected{{SubsamplingType::kConv2d122}, 4, 1, 7},
                                   Expected{{SubsamplingType::kLinear}, 1, 0, 0},
                                   Expected{{SubsamplingType::kStriding4, 8, false}, 4, 3, 3},
                                   Expected{{SubsamplingType::kStriding4, 8, true}, 4, 6, 0},
                                   Expected{{SubsamplingType::kDwStriding8, 8, false}, 8, 7, 7},
                                   Expected{{SubsamplingType::kDwStriding8, 8, true}, 8, 14, 0}}) {
    const SubsamplingGeometry geometry(expected.config);
    EXPECT_EQ(geometry.rate(), expected.rate);
    EXPECT_EQ(geometry.left_overlap(), expected.left_overlap);
    EXPECT_EQ(geometry.right_context(), expected.right_context);
  }
}

TEST(SubsamplingGeometryTest, StridesOfLayers) {
  const SubsamplingGeometry once({SubsamplingType::kConv2dOnce2});
  const SubsamplingGeometry strided({SubsamplingType::kConv2dOnce2}, {1, 2, 1, 3});
  EXPECT_EQ(strided.rate(), 12);
  EXPECT_EQ(strided.left_overlap(), 0);
  EXPECT_EQ(strided.right_context(), 12);  // 6 frames of the subsampling
  for (int64_t frames = 0; frames < 200; ++frames) {
    // The last frame of a rate may stand for fewer frames than the others.
    EXPECT_EQ(strided.NumEncoderFrames(frames), (once.NumEncoderFrames(frames) + 5) / 6);
  }
}

TEST(SubsamplingGeometryTest, EncoderFrames) {
  const SubsamplingGeometry conv2d4({SubsamplingType::kConv2d4});
  const SubsamplingGeometry conv2d121({SubsamplingType::kConv2d121});
  const SubsamplingGeometry conv2d122({SubsamplingType::kConv2d122});
  const SubsamplingGeometry conv1d2({SubsamplingType::kConv1d2});
  const SubsamplingGeometry striding4({SubsamplingType::kStriding4, 8, false});
  const SubsamplingGeometry linear({SubsamplingType::kLinear});
  for (int64_t frames = 0; frames < 2000; ++frames) {
    EXPECT_EQ(conv2d4.NumEncoderFrames(frames), frames < 7 ? 0 : ((frames - 1) / 2 - 1) / 2);
    EXPECT_EQ(conv2d121.NumEncoderFrames(frames), frames < 7 ? 0 : (frames - 1) / 2 - 2);
    EXPECT_EQ(conv2d122.NumEncoderFrames(frames), conv2d4.NumEncoderFrames(frames));
    EXPECT_EQ(conv1d2.NumEncoderFrames(frames), frames < 5 ? 0 : (frames - 3) / 2);
    EXPECT_EQ(striding4.NumEncoderFrames(frames), (frames + 3) / 4);
    EXPECT_EQ(linear.NumEncoderFrames(frames), frames);
  }
  EXPECT_EQ(conv1d2.NumBins(80), 1);
  EXPECT_EQ(conv2d121.NumBins(80), 37);
  EXPECT_EQ(conv2d4.NumEncoderFrames(int64_t{4} << 40), (int64_t{1} << 40) - 1);
}

// Values by channel, frame and bin.
struct Image {
  int64_t channels;
  int64_t frames;
  int64_t bins;
  std::vector<double> values;

  // Zero outside, which is padding.
  double At(int64_t channel, int64_t frame, int64_t bin) const {
    if (frame < 0 || frame >= frames || bin < 0 || bin >= bins) return 0;
    return values[static_cast<size_t>((channel * frames + frame) * bins + bin)];
  }
};

Image ImageOf(const Matrix& features) {
  const ConstRows rows = features.rows();
  return {1, rows.count, rows.dim, std::vector<double>(rows.float32(), rows.float32(rows.count))};
}

// weight: (channels, inputs / groups, k, k). `padding`: before and after frames and bins.
Image Convolved(const Image& image, const Tensor& weight, const Tensor& bias, int64_t stride,
                std::pair<int64_t, int64_t> padding) {
  const std::vector<double> taps = Float64Values(weight);
  const std::vector<double> biases = Float64Values(bias);
  const int64_t inputs = weight.size(1);
  const int64_t kernel_size = weight.size(2);
  const auto outputs = [&](int64_t size) {
    return (size + padding.first + padding.second - kernel_size) / stride + 1;
  };
  Image result{weight.size(0), outputs(image.frames), outputs(image.bins), {}};
  for (int64_t channel = 0; channel < result.channels; ++channel) {
    const int64_t first_input = channel * (image.channels / inputs) / result.channels * inputs;
    for (int64_t frame = 0; frame < result.frames; ++frame) {
      for (int64_t bin = 0; bin < result.bins; ++bin) {
        double sum = biases[static_cast<size_t>(channel)];
        auto tap = taps.begin() + channel * inputs * kernel_size * kernel_size;
        for (int64_t input = 0; input < inputs; ++input) {
          for (int64_t i = 0; i < kernel_size; ++i) {
            for (int64_t j = 0; j < kernel_size; ++j) {
              sum += *tap++ * image.At(first_input + input, frame * stride + i - padding.first,
                                       bin * stride + j - padding.first);
            }
          }
        }
        result.values.push_back(sum);
      }
    }
  }
  return result;
}

Image Relu(Image image) {
  for (double& value : image.values) value = std::max(value, 0.0);
  return image;
}

// (frames, d), of the channels of a frame one after another.
Matrix Projected(const Image& image, const Tensor& weight, const Tensor& bias) {
  const std::vector<double> weights = Float64Values(weight);
  const std::vector<double> biases = Float64Values(bias);
  return testing::MatrixOf(DataType::kFloat64, image.frames, weight.size(0),
                           [&](int64_t frame, int64_t output) {
                             double sum = biases[static_cast<size_t>(output)];
                             auto factor = weights.begin() + output * weight.size(1);
                             for (int64_t channel = 0; channel < image.channels; ++channel) {
                               for (int64_t bin = 0; bin < image.bins; ++bin) {
                                 sum += *factor++ * image.At(channel, frame, bin);
                               }
                             }
                             return sum;
                           });
}

class PaddedSubsamplingTest
    : public ::testing::TestWithParam<std::tuple<SubsamplingConfig, Arithmetic>> {};

INSTANTIATE_TEST_SUITE_P(
    Kinds, PaddedSubsamplingTest,
    ::testing::Combine(::testing::Values(SubsamplingConfig{SubsamplingType::kStriding4, 5, false},
                                         SubsamplingConfig{SubsamplingType::kStriding4, 5, true},
                                         SubsamplingConfig{SubsamplingType::kDwStriding8, 5, false},
                                         SubsamplingConfig{SubsamplingType::kDwStriding8, 5, true}),
                       ::testing::ValuesIn(testing::FullPrecision())),
    [](const auto& variant) {
      const SubsamplingConfig& config = std::get<0>(variant.param);
      return std::string(config.type == SubsamplingType::kStriding4 ? "striding4"
                                                                    : "dw_striding8") +
             (config.causal ? "_causal_" : "_") + std::get<1>(variant.param).name;
    });

TEST_P(PaddedSubsamplingTest, WholeAndInPiecesIsEveryStagePaddedByHand) {
  const auto& [subsampling, arithmetic] = GetParam();
  EncoderConfig config = testing::SmallConfig(R"({"scheme": "none"})");
  config.subsampling = subsampling;
  const auto tensors = testing::RandomWeights(config, 5);
  Weights weights(tensors, arithmetic.type, "random weights");
  const auto backend = arithmetic.MakeBackend(config, &weights);
  const std::unique_ptr<const SubsamplingModule> module =
      backend->MakeSubsampling(BindSubsampling(config, &weights));
  const DataType type = arithmetic.type;
  // The encoder frames `frames` from the features `read` of the stream.
  const auto forward = [&](const Matrix& features, FrameRange read, FrameRange frames) {
    const Matrix input =
        testing::Converted(features.rows().Part(read.begin, read.end - read.begin), type);
    Segment segment;
    segment.frames = frames;
    segment.features = input.rows();
    segment.first_feature = read.begin;
    segment.num_features = features.count();
    Matrix output(type, config.model_dim, segment.num_rows());
    module->Forward({segment}, output.rows());
    return output;
  };
  const auto convolved = [&](const Image& image, const std::string& layer, int64_t stride,
                             std::pair<int64_t, int64_t> padding) {
    const std::string name = "encoder.embed." + layer;
    return Convolved(image, tensors.at(name + ".weight"), tensors.at(name + ".bias"), stride,
                     padding);
  };
  const std::pair<int64_t, int64_t> padding = {subsampling.causal ? 2 : 1, 1};
  for (const int64_t num_frames : {1, 2, 3, 4, 5, 8, 9, 16, 17, 50, 63, 64, 65}) {
    const Matrix features = RandomFeatures(config, num_frames, 6);
    Image image = Relu(convolved(ImageOf(features), "conv.0", 2, padding));
    if (subsampling.type == SubsamplingType::kDwStriding8) {
      for (const int depthwise : {2, 5}) {
        image = convolved(image, "conv." + std::to_string(depthwise), 2, padding);
        image = Relu(convolved(image, "conv." + std::to_string(depthwise + 1), 1, {0, 0}));
      }
    } else {
      image = Relu(convolved(image, "conv.2", 2, padding));
    }
    const Matrix expected = Projected(image, tensors.at("encoder.embed.out.0.weight"),
                                      tensors.at("encoder.embed.out.0.bias"));
    const SubsamplingGeometry geometry(config.subsampling);
    ASSERT_EQ(geometry.NumEncoderFrames(num_frames), expected.count());
    EXPECT_LE(RelativeError(forward(features, {0, num_frames}, {0, expected.count()}), expected),
              arithmetic.FromExact());
    // One encoder frame at a time, from no more frames than it reads.
    for (int64_t t = 0; t < expected.count(); ++t) {
      const int64_t first = std::max<int64_t>(0, t * geometry.rate() - geometry.left_overlap());
      const int64_t end = std::min(num_frames, t * geometry.rate() + geometry.right_context() + 1);
      EXPECT_LE(
          RelativeError(forward(features, {first, end}, {t, t + 1}), expected.rows().Part(t, 1)),
          arithmetic.FromExact())
          << num_frames << " frames, encoder frame " << t;
    }
  }
}

}  // namespace
}  // namespace runnel
