// The frame arithmetic of every kind of subsampling, and the padded kinds against padding by hand.
#include "encoder/subsampling_geometry.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "encoder/encoder_weights.h"
#include "encoder/libtorch/subsampling.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::FormulaTolerance;
using testing::RandomFeatures;
using testing::RelativeError;

TEST(SubsamplingGeometryTest, RatesAndContexts) {
  struct Expected {
    SubsamplingConfig config;
    int64_t rate, left_overlap, right_context;
  };
  // WeNet's rate and right_context; for NeMo's kinds 1 + 2 (+ 4) frames of padding 1 before, and
  // twice that when all padding but one is before.
  for (const Expected& expected : {Expected{{SubsamplingType::kConv2d4}, 4, 0, 6},
                                   Expected{{SubsamplingType::kConv2d6}, 6, 0, 10},
                                   Expected{{SubsamplingType::kConv2d8}, 8, 0, 14},
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

TEST(SubsamplingGeometryTest, EncoderFrames) {
  const SubsamplingGeometry conv2d4({SubsamplingType::kConv2d4});
  const SubsamplingGeometry striding4({SubsamplingType::kStriding4, 8, false});
  const SubsamplingGeometry linear({SubsamplingType::kLinear});
  for (int64_t frames = 0; frames < 2000; ++frames) {
    EXPECT_EQ(conv2d4.NumEncoderFrames(frames), frames < 7 ? 0 : ((frames - 1) / 2 - 1) / 2);
    EXPECT_EQ(striding4.NumEncoderFrames(frames), (frames + 3) / 4);
    EXPECT_EQ(linear.NumEncoderFrames(frames), frames);
  }
  EXPECT_EQ(conv2d4.NumEncoderFrames(int64_t{4} << 40), (int64_t{1} << 40) - 1);
}

class PaddedSubsamplingTest : public ::testing::TestWithParam<SubsamplingConfig> {};

INSTANTIATE_TEST_SUITE_P(
    Kinds, PaddedSubsamplingTest,
    ::testing::Values(SubsamplingConfig{SubsamplingType::kStriding4, 5, false},
                      SubsamplingConfig{SubsamplingType::kStriding4, 5, true},
                      SubsamplingConfig{SubsamplingType::kDwStriding8, 5, false},
                      SubsamplingConfig{SubsamplingType::kDwStriding8, 5, true}),
    [](const auto& variant) {
      return std::string(variant.param.type == SubsamplingType::kStriding4 ? "striding4"
                                                                           : "dw_striding8") +
             (variant.param.causal ? "_causal" : "");
    });

TEST_P(PaddedSubsamplingTest, WholeAndInPiecesIsEveryStagePaddedByHand) {
  const c10::InferenceMode guard;
  EncoderConfig config = testing::SmallConfig();
  config.subsampling = GetParam();
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, tensor] : testing::RandomWeights(config, 5)) {
    if (name.rfind("encoder.embed.", 0) == 0) tensors[name] = tensor;
  }
  Weights weights(tensors, at::kDouble, "random weights");
  const libtorch::Subsampling module(BindSubsampling(config, &weights), config);
  weights.CheckAllTaken();
  const auto get = [&](const std::string& name) {
    return tensors.at("encoder.embed." + name).to(at::kDouble);
  };
  const int64_t before = GetParam().causal ? 2 : 1;
  const bool depthwise = GetParam().type == SubsamplingType::kDwStriding8;
  const auto stage = [&](const at::Tensor& image, const std::string& layer, int64_t groups) {
    return at::conv2d(at::constant_pad_nd(image, {before, 1, before, 1}), get(layer + ".weight"),
                      get(layer + ".bias"), at::IntArrayRef({2, 2}), at::IntArrayRef({0, 0}),
                      at::IntArrayRef({1, 1}), groups);
  };
  for (const int64_t num_frames : {1, 2, 3, 4, 5, 8, 9, 16, 17, 50, 63, 64, 65}) {
    const at::Tensor features = RandomFeatures(config, num_frames, 6).to(at::kDouble);
    at::Tensor image = at::relu(stage(features.unsqueeze(0).unsqueeze(0), "conv.0", 1));
    if (depthwise) {
      for (const std::string layer : {"2", "5"}) {
        image = stage(image, "conv." + layer, 5);
        const std::string pointwise = "conv." + std::to_string(std::stoi(layer) + 1);
        image = at::relu(at::conv2d(image, get(pointwise + ".weight"), get(pointwise + ".bias")));
      }
    } else {
      image = at::relu(stage(image, "conv.2", 1));
    }
    const at::Tensor expected = at::linear(image.squeeze(0).transpose(0, 1).flatten(1),
                                           get("out.0.weight"), get("out.0.bias"));
    const SubsamplingGeometry geometry(config.subsampling);
    ASSERT_EQ(geometry.NumEncoderFrames(num_frames), expected.size(0));
    EXPECT_LE(
        RelativeError(module.Forward(features, 0, {0, expected.size(0)}, num_frames), expected),
        FormulaTolerance(at::kDouble));
    // One encoder frame at a time, from no more frames than it reads.
    for (int64_t t = 0; t < expected.size(0); ++t) {
      const int64_t first = std::max<int64_t>(0, t * geometry.rate() - geometry.left_overlap());
      const int64_t end = std::min(num_frames, t * geometry.rate() + geometry.right_context() + 1);
      EXPECT_LE(RelativeError(module.Forward(features.narrow(0, first, end - first), first,
                                             {t, t + 1}, num_frames),
                              expected.narrow(0, t, 1)),
                FormulaTolerance(at::kDouble))
          << num_frames << " frames, encoder frame " << t;
    }
  }
}

}  // namespace
}  // namespace runnel
