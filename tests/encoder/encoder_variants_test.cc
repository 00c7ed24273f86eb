// Every kind of subsampling, convolution, normalisation and norm placement: chunk by chunk equals
// the whole utterance under the chunk mask, batched or not, and the frame count is the offline one.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/rows.h"
#include "tests/support/arithmetic.h"
#include "tests/support/error_message.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"

namespace runnel {
namespace {

using testing::Arithmetic;
using testing::ChunkSizes;
using testing::Contains;
using testing::ErrorMessage;
using testing::ForwardUnderMask;
using testing::FullPrecision;
using testing::kFull;
using testing::LeftContexts;
using testing::MostExact;
using testing::Playback;
using testing::RandomEncoder;
using testing::RandomFeatures;
using testing::RelativeError;
using testing::RunAlone;
using testing::StepTogether;

constexpr uint64_t kSeed = 20241121;

struct Variant {
  const char* name;
  void (*change)(EncoderConfig*);
};

const std::vector<Variant>& Variants() {
  static const std::vector<Variant> variants = {
      {"conv2d6", [](EncoderConfig* c) { c->subsampling.type = SubsamplingType::kConv2d6; }},
      {"conv2d8", [](EncoderConfig* c) { c->subsampling.type = SubsamplingType::kConv2d8; }},
      {"linear", [](EncoderConfig* c) { c->subsampling.type = SubsamplingType::kLinear; }},
      {"striding4",
       [](EncoderConfig* c) {
         c->subsampling = {SubsamplingType::kStriding4, 5, false};
       }},
      {"striding4_causal",
       [](EncoderConfig* c) {
         c->subsampling = {SubsamplingType::kStriding4, 5, true};
       }},
      {"dw_striding8",
       [](EncoderConfig* c) {
         c->subsampling = {SubsamplingType::kDwStriding8, 5, false};
       }},
      {"dw_striding8_causal",
       [](EncoderConfig* c) {
         c->subsampling = {SubsamplingType::kDwStriding8, 5, true};
       }},
      {"dynamic_chunk",
       [](EncoderConfig* c) {
         c->convolution->type = ConvolutionType::kDynamicChunk;
         c->convolution->kernel_size = 7;
         c->convolution->norm = ConvolutionNorm::kBatchNorm;
       }},
      {"dynamic_chunk_even",
       [](EncoderConfig* c) {
         c->convolution->type = ConvolutionType::kDynamicChunk;
         c->convolution->kernel_size = 8;
         c->convolution->bias = false;
       }},
      {"gated_padding", [](EncoderConfig* c) { c->convolution->gated_padding = true; }},
      {"kernel_of_one", [](EncoderConfig* c) { c->convolution->kernel_size = 1; }},
      {"causal_batch_norm",
       [](EncoderConfig* c) { c->convolution->norm = ConvolutionNorm::kBatchNorm; }},
      {"transformer_post_norm",
       [](EncoderConfig* c) {
         c->convolution.reset();
         c->feed_forward.macaron = false;
         c->feed_forward.activation = Activation::kRelu;
         c->norm_first = false;
         c->after_norm = false;
       }},
      {"e_branchformer",
       [](EncoderConfig* c) {
         c->type = EncoderType::kBranchformer;
         c->convolution.reset();
         c->branches = {ConvolutionType::kCausal, 26, 7, false, Activation::kIdentity, 4};
       }},
      {"e_branchformer_dynamic_chunk",
       [](EncoderConfig* c) {
         c->type = EncoderType::kBranchformer;
         c->convolution.reset();
         c->branches = {ConvolutionType::kDynamicChunk, 26, 6, true, Activation::kTanh, 5};
         c->feed_forward.macaron = false;
       }},
      {"branchformer",
       [](EncoderConfig* c) {
         c->type = EncoderType::kBranchformer;
         c->convolution.reset();
         c->branches = {ConvolutionType::kCausal, 22, 5, true, Activation::kSwish, 0};
         c->feed_forward = {0, false};
       }},
      {"conformer_post_norm", [](EncoderConfig* c) { c->norm_first = false; }},
      {"gelu_without_biases",
       [](EncoderConfig* c) {
         c->feed_forward.activation = Activation::kGelu;
         c->feed_forward.bias = false;
         c->convolution->activation = Activation::kRelu;
         c->convolution->bias = false;
         c->scale_input = false;
       }},
      {"conv1d2", [](EncoderConfig* c) { c->subsampling = {SubsamplingType::kConv1d2}; }},
      {"conv2d2", [](EncoderConfig* c) { c->subsampling = {SubsamplingType::kConv2d2}; }},
      {"reworked_conformer",
       [](EncoderConfig* c) {
         c->type = EncoderType::kReworkedConformer;
         c->subsampling = {SubsamplingType::kConv2d122, 0, false};
         c->convolution->norm = ConvolutionNorm::kNone;
         c->convolution->activation = Activation::kDoubleSwish;
         c->feed_forward.activation = Activation::kDoubleSwish;
         c->feed_forward.half_steps = false;
         c->position = testing::PositionFromJson(
             R"({"scheme": "chunk_rpe", "linear_pos_bias": false,
                 "query_scaling": "before_bias", "table_order": "descending"})");
         c->scale_input = false;
         c->after_norm = false;
       }},
      {"multitalker_conformer",
       [](EncoderConfig* c) { c->type = EncoderType::kMultitalkerConformer; }},
      {"efficient_conformer",
       [](EncoderConfig* c) {
         c->type = EncoderType::kEfficientConformer;
         c->num_layers = 4;
         c->position = GroupedUnshifted{{}, {3, 3, 1, 1}};
         c->strides = {1, 2, 1, 1};
         c->strides_divide_kernels = true;
         c->convolution->kernel_size = 7;
         c->convolution->gated_padding = true;
       }},
      {"efficient_conformer_dynamic_chunk",
       [](EncoderConfig* c) {
         c->type = EncoderType::kEfficientConformer;
         c->num_layers = 3;
         c->subsampling = {SubsamplingType::kConv2dOnce2};
         c->position = GroupedUnshifted{{true, false}, {2, 5, 1}};
         c->strides = {2, 2, 3};
         c->convolution->type = ConvolutionType::kDynamicChunk;
         c->convolution->kernel_size = 6;
         c->norm_first = false;
       }},
      {"efficient_conformer_of_one_group",
       [](EncoderConfig* c) {
         c->type = EncoderType::kEfficientConformer;
         c->position = UnshiftedPosition{};
         c->strides = {4, 1};
       }},
      {"no_normalization", [](EncoderConfig* c) { c->normalization = Normalization::kNone; }},
      {"running_normalization",
       [](EncoderConfig* c) {
         c->normalization = Normalization::kRunning;
         c->subsampling = {SubsamplingType::kStriding4, 5, false};
       }},
  };
  return variants;
}

class EncoderVariantsTest : public ::testing::TestWithParam<std::tuple<Variant, Arithmetic>> {
 protected:
  static EncoderConfig Config() {
    EncoderConfig config = testing::SmallConfig();
    config.num_layers = 2;
    std::get<0>(GetParam()).change(&config);
    return config;
  }
  // A chunk size or left context that this encoder has, from that of the others.
  static int64_t Fit(int64_t size) { return size > 0 ? size * Config().ChunkMultiple() : size; }
  static const Arithmetic& arithmetic() { return std::get<1>(GetParam()); }
  static Encoder MakeEncoder() { return RandomEncoder(Config(), std::get<1>(GetParam()), kSeed); }
};

TEST(ReworkedConformerTest, EpsilonsThatAreOutOfRange) {
  EncoderConfig config = testing::SmallConfig();
  for (const Variant& variant : Variants()) {
    if (std::string(variant.name) == "reworked_conformer") variant.change(&config);
  }
  const auto tensors = testing::RandomWeights(config, kSeed);
  for (const char* name :
       {"encoder.embed.out.1.log_epsilon", "encoder.encoders.1.norm_final.log_epsilon"}) {
    for (const float value : {-1e4F, 1e4F}) {
      auto damaged = tensors;
      damaged[name] = Tensor({1}, std::vector<float>{value});
      Weights weights(std::move(damaged), DataType::kFloat32, "m.pt");
      EXPECT_TRUE(
          Contains(ErrorMessage<std::runtime_error>([&] {
                     Encoder(config, &weights, *MostExact().MakeBackend(config, &weights));
                   }),
                   std::string("m.pt: tensor ") + name + " holds a value that is out of range"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EncoderVariantsTest,
                         ::testing::Combine(::testing::ValuesIn(Variants()),
                                            ::testing::ValuesIn(FullPrecision())),
                         [](const auto& variant) {
                           return std::string(std::get<0>(variant.param).name) + "_" +
                                  std::get<1>(variant.param).name;
                         });

TEST_P(EncoderVariantsTest, ChunkedEqualsFullUnderMask) {
  const Encoder encoder = MakeEncoder();
  double worst = 0;
  for (const int64_t num_frames : {1, 2, 6, 15, 16, 17, 18, 66, 143}) {
    const Matrix features = RandomFeatures(encoder.config(), num_frames, kSeed + 1);
    for (const int64_t size : ChunkSizes()) {
      for (const int64_t left : LeftContexts(size)) {
        const int64_t chunk_size = Fit(size), left_context = Fit(left);
        SCOPED_TRACE(::testing::Message() << num_frames << " frames, chunk_size " << chunk_size
                                          << ", left_context " << left_context);
        const Matrix full = ForwardUnderMask(encoder, features, chunk_size, left_context);
        ASSERT_EQ(full.count(), encoder.subsampling().NumEncoderFrames(num_frames));
        const double error =
            RelativeError(RunAlone(encoder, features, chunk_size, left_context), full);
        ASSERT_LE(error, arithmetic().Chunked());
        worst = std::max(worst, error);
      }
    }
  }
  std::cout << "largest relative error " << worst << "\n";
}

TEST_P(EncoderVariantsTest, IsTheReference) {
  if (!testing::kHasLibTorch) GTEST_SKIP() << "this build has no reference";
  const Encoder exact = RandomEncoder(Config(), MostExact(), kSeed);
  const Matrix features = RandomFeatures(Config(), 143, kSeed + 1);
  for (const int64_t size : ChunkSizes()) {
    const int64_t chunk_size = Fit(size), left_context = Fit(9);
    const Matrix expected = RunAlone(exact, features, chunk_size, left_context);
    EXPECT_LE(RelativeError(RunAlone(MakeEncoder(), features, chunk_size, left_context), expected),
              arithmetic().FromExact());
  }
}

TEST_P(EncoderVariantsTest, BatchesAndCopiesChangeNothing) {
  const Encoder encoder = MakeEncoder();
  std::mt19937_64 random(kSeed);
  std::vector<Playback> runs;
  std::vector<Matrix> alone;
  for (const int64_t size : ChunkSizes()) {
    const int64_t chunk_size = Fit(size), left_context = Fit(2 * size + 1);
    const Matrix features =
        RandomFeatures(encoder.config(), static_cast<int64_t>(1 + random() % 200), random());
    alone.push_back(RunAlone(encoder, features, chunk_size, left_context));
    runs.emplace_back(encoder, features, chunk_size, left_context);
  }
  for (;;) {
    std::vector<Playback*> waiting;
    for (Playback& run : runs) {
      if (!run.Done()) waiting.push_back(&run);
      if (random() % 4 == 0) run = Playback(run);
    }
    if (waiting.empty()) break;
    std::shuffle(waiting.begin(), waiting.end(), random);
    waiting.resize(1 + random() % waiting.size());
    StepTogether(encoder, waiting);
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_LE(RelativeError(runs[i].output, alone[i]), arithmetic().Batched()) << "seed " << kSeed;
  }
}

TEST(EfficientConformerTest, ChunksThatCutAGroupAreRefused) {
  EncoderConfig config = testing::SmallConfig();
  for (const Variant& variant : Variants()) {
    if (std::string(variant.name) == "efficient_conformer") variant.change(&config);
  }
  EXPECT_EQ(config.ChunkMultiple(), 3);
  const Encoder encoder = RandomEncoder(config, MostExact(), kSeed);
  const Matrix features = RandomFeatures(config, 150, kSeed);
  const auto refusals = [&](int64_t chunk_size, int64_t left_context) {
    return ErrorMessage<std::invalid_argument>(
               [&] { RunAlone(encoder, features, chunk_size, left_context); }) +
           ErrorMessage<std::invalid_argument>(
               [&] { ForwardUnderMask(encoder, features, chunk_size, left_context); });
  };
  for (const int64_t left_context : {3, -1}) {
    EXPECT_EQ(refusals(4, left_context),
              "chunk_size is 4; expected a multiple of 3chunk_size is 4; expected a multiple of 3");
  }
  EXPECT_EQ(
      refusals(6, 5),
      "left_context is 5; expected a multiple of 3left_context is 5; expected a multiple of 3");
}

TEST(WholeUtteranceModelTest, ChunksAreRefusedAndTheWholeUtteranceIsNot) {
  EncoderConfig conformer = testing::SmallConfig();
  conformer.convolution->type = ConvolutionType::kSymmetric;
  EncoderConfig branchformer = testing::SmallConfig();
  branchformer.type = EncoderType::kBranchformer;
  branchformer.convolution.reset();
  branchformer.branches = {ConvolutionType::kSymmetric, 20, 5, false, Activation::kIdentity, 3};
  EncoderConfig normalized = testing::SmallConfig();
  normalized.normalization = Normalization::kUtterance;
  for (const EncoderConfig& config : {conformer, branchformer, normalized}) {
    const Encoder encoder = RandomEncoder(config, MostExact(), kSeed);
    const Matrix features = RandomFeatures(config, 150, kSeed);
    const std::string expected =
        config.normalization == Normalization::kUtterance ? "running" : "dynamic_chunk";
    EXPECT_TRUE(
        Contains(ErrorMessage<std::invalid_argument>([&] { RunAlone(encoder, features, 8, 16); }),
                 expected));
    EXPECT_TRUE(Contains(
        ErrorMessage<std::invalid_argument>([&] { ForwardUnderMask(encoder, features, 8, 16); }),
        expected));
    EXPECT_LE(RelativeError(RunAlone(encoder, features, kFull, -1),
                            ForwardUnderMask(encoder, features, kFull, -1)),
              MostExact().FromExact());
  }
}

TEST(WholeUtteranceModelTest, IsItsStreamingSubstituteWithOneChunk) {
  EncoderConfig offline = testing::SmallConfig();
  offline.convolution->type = ConvolutionType::kSymmetric;
  offline.normalization = Normalization::kUtterance;
  EncoderConfig streaming = offline;
  streaming.convolution->type = ConvolutionType::kDynamicChunk;
  streaming.normalization = Normalization::kRunning;
  const Matrix features = RandomFeatures(offline, 150, kSeed);
  const Matrix whole = RunAlone(RandomEncoder(offline, MostExact(), kSeed), features, kFull, -1);
  const Encoder encoder = RandomEncoder(streaming, MostExact(), kSeed);
  EXPECT_LE(RelativeError(RunAlone(encoder, features, kFull, -1), whole), MostExact().FromExact());
  EXPECT_GT(RelativeError(RunAlone(encoder, features, 8, -1), whole), 1e-2);
}

}  // namespace
}  // namespace runnel
