// The encoder and each of its modules against PyTorch's recorded values.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "encoder/attention.h"
#include "encoder/conformer_layer.h"
#include "encoder/convolution.h"
#include "encoder/dense.h"
#include "encoder/encoder.h"
#include "encoder/libtorch_backend.h"
#include "encoder/model_archive.h"
#include "runtime/ctc_head.h"
#include "tests/support/archive_files.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::FormulaTolerance;
using testing::RelativeError;

constexpr char kLayer[] = "encoder.encoders.0";

EncoderConfig TinyConfig() {
  EncoderConfig config;
  config.input_dim = 20;
  config.model_dim = 16;
  config.num_layers = 2;
  config.num_heads = 2;
  config.feed_forward.hidden_dim = 24;
  config.convolution->kernel_size = 5;
  config.position = testing::PositionFromJson(testing::kChunkRpe);
  return config;
}

// A size and left context as the generator writes them into a name, e.g. "c4_mm1".
struct ChunkSetting {
  int64_t chunk_size;
  int64_t left_context;

  std::string Name() const {
    const auto text = [](int64_t value) {
      return value < 0 ? "m" + std::to_string(-value) : std::to_string(value);
    };
    return "c" + text(chunk_size) + "_m" + text(left_context);
  }
};

const std::vector<ChunkSetting>& Masks() {
  static const std::vector<ChunkSetting> masks = {{1, 0},  {2, 3},  {4, 8},
                                                  {5, -1}, {16, 1}, {-1, -1}};
  return masks;
}

class EncoderGoldenTest : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  EncoderGoldenTest()
      : goldens_(testing::TinyGoldens()),
        weights_(ReadModelArchive(testing::TinyModelPath()).tensors, GetParam(), "tiny.pt") {}

  const at::Tensor& Golden(const std::string& name) const { return goldens_.at(name); }

  // In the precision under test.
  at::Tensor Input(const std::string& name) const { return Golden(name).to(GetParam()); }

  void ExpectGolden(const at::Tensor& actual, const std::string& name) const {
    EXPECT_EQ(actual.scalar_type(), GetParam());
    EXPECT_LE(RelativeError(actual, Golden(name)), FormulaTolerance(GetParam())) << name;
  }

  Weights* weights() { return &weights_; }

  // Of the first layer alone.
  std::shared_ptr<const PositionScheme> Position() {
    return TinyConfig()
        .position
        .build(weights(), {std::string(kLayer) + ".self_attn"}, TinyConfig().attention_sizes())
        .layers[0];
  }

  // (H, rows, 2 d_k), as recorded, to rows of keys (part 0) or values (part 1): (rows, d).
  static at::Tensor Part(const at::Tensor& keys_values, int64_t part) {
    const int64_t head_dim = keys_values.size(2) / 2;
    return keys_values.narrow(2, part * head_dim, head_dim).transpose(0, 1).flatten(1);
  }

  // A state without any context, or with the recorded caches.
  LayerState State(bool cached) const {
    const int64_t dim = TinyConfig().model_dim;
    LayerState state{FrameBuffer(dim, GetParam()), FrameBuffer(dim, GetParam()),
                     FrameBuffer(dim, GetParam()), FrameBuffer(dim, GetParam())};
    const at::Tensor cnn_cache = Input("module_cnn_cache").t();
    state.cnn_cache.Append(cached ? cnn_cache : cnn_cache * 0);
    if (cached) {
      state.keys.Append(Part(Input("module_att_cache"), 0));
      state.values.Append(Part(Input("module_att_cache"), 1));
    }
    return state;
  }

 private:
  const c10::InferenceMode guard_;  // as in Encoder::Step
  std::map<std::string, at::Tensor> goldens_;
  Weights weights_;
};

INSTANTIATE_TEST_SUITE_P(Precisions, EncoderGoldenTest, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& precision) { return c10::toString(precision.param); });

// The names of the recorded values whose input is empty or cached.
std::string Suffix(bool cached) { return cached ? "_cached" : ""; }

LayerBatch OneSegment(const at::Tensor& x, LayerState* state) {
  return {{0, x.size(0), 0, state, -1, std::nullopt}};
}

TEST_P(EncoderGoldenTest, FeedForward) {
  const FeedForward module(weights(), std::string(kLayer) + ".feed_forward", 16,
                           TinyConfig().feed_forward);
  // Recorded before the 1/2 of a macaron layer.
  ExpectGolden(module.Forward(Input("module_x")) * 2, "feed_forward");
}

TEST_P(EncoderGoldenTest, Attention) {
  const Attention module(weights(), std::string(kLayer) + ".self_attn", TinyConfig(), Position());
  const at::Tensor x = Input("module_x");
  for (const bool cached : {false, true}) {
    LayerState state = State(cached);
    ExpectGolden(module.Forward(x, OneSegment(x, &state)), "attention" + Suffix(cached));
    const at::Tensor& keys_values = Golden("attention_keys_values" + Suffix(cached));
    EXPECT_LE(RelativeError(state.keys.Rows(), Part(keys_values, 0)), FormulaTolerance(GetParam()));
    EXPECT_LE(RelativeError(state.values.Rows(), Part(keys_values, 1)),
              FormulaTolerance(GetParam()));
  }
}

TEST_P(EncoderGoldenTest, Convolution) {
  const Convolution module(weights(), std::string(kLayer) + ".conv_module", 16,
                           *TinyConfig().convolution);
  const at::Tensor x = Input("module_x");
  for (const bool cached : {false, true}) {
    LayerState state = State(cached);
    ExpectGolden(module.Forward(x, OneSegment(x, &state)), "convolution" + Suffix(cached));
    ExpectGolden(state.cnn_cache.Rows().t(), "convolution_next_cache" + Suffix(cached));
  }
}

TEST_P(EncoderGoldenTest, Layer) {
  const ConformerLayer<LibTorchBackend> module(weights(), kLayer, TinyConfig(), Position(), {});
  const at::Tensor x = Input("module_x");
  for (const bool cached : {false, true}) {
    LayerState state = State(cached);
    at::Tensor rows = x.clone();
    module.Forward(OneSegment(x, &state), &rows);
    ExpectGolden(rows, "layer" + Suffix(cached));
  }
}

TEST_P(EncoderGoldenTest, Subsampling) {
  const Encoder encoder(TinyConfig(), weights());
  bool seen = false;
  encoder.ForwardUnderMask(Golden("features"), -1, -1,
                           [&](const std::string& name, const at::Tensor& rows) {
                             if (name != "subsampling") return;
                             seen = true;
                             ExpectGolden(rows, "subsampling");
                           });
  EXPECT_TRUE(seen);
}

TEST_P(EncoderGoldenTest, WholeUtteranceUnderMasks) {
  const Encoder encoder(TinyConfig(), weights());
  const CtcHead ctc_head(weights(), 16, 7);
  weights()->CheckAllTaken();
  for (const ChunkSetting& mask : Masks()) {
    const at::Tensor rows =
        encoder.ForwardUnderMask(Golden("features"), mask.chunk_size, mask.left_context);
    ExpectGolden(rows, "encode_" + mask.Name());
    ExpectGolden(ctc_head.LogProbs(rows), "log_probs_" + mask.Name());
  }
}

TEST_P(EncoderGoldenTest, ChunkByChunk) {
  const Encoder encoder(TinyConfig(), weights());
  const at::Tensor features = Golden("features").to(at::kFloat).contiguous();
  std::vector<std::pair<ChunkSetting, std::string>> runs = {
      {{1, 2}, "encode_chunk_"}, {{4, 8}, "encode_chunk_"}, {{7, -1}, "encode_chunk_"}};
  for (const ChunkSetting& mask : Masks()) runs.emplace_back(mask, "encode_");
  for (const auto& [setting, prefix] : runs) {
    EncoderState state = encoder.InitialState(setting.left_context);
    std::vector<at::Tensor> rows;
    int64_t position = 0;
    while (const auto chunk =
               encoder.NextChunk(state, setting.chunk_size, features.size(0) - position, true)) {
      const float* data = features.data_ptr<float>() + position * features.size(1);
      rows.push_back(encoder.Step({{&state, data, *chunk}}).rows);
      position += chunk->num_frames;
    }
    ExpectGolden(at::cat(rows), prefix + setting.Name());
  }
}

TEST(EncoderGoldenFilesTest, NoRecordedValueIsLeftUnused) {
  // Each of the values above is asked for by name, so absence fails; this finds forgotten ones.
  std::set<std::string> used = {"module_x", "module_att_cache", "module_cnn_cache",
                                "features", "subsampling",      "feed_forward"};
  for (const std::string suffix : {"", "_cached"}) {
    for (const std::string name :
         {"attention", "attention_keys_values", "convolution", "convolution_next_cache", "layer"}) {
      used.insert(name + suffix);
    }
  }
  for (const ChunkSetting& mask : Masks()) {
    used.insert("encode_" + mask.Name());
    used.insert("log_probs_" + mask.Name());
  }
  for (const std::string name : {"c1_m2", "c4_m8", "c7_mm1"}) used.insert("encode_chunk_" + name);
  for (const auto& [name, tensor] : testing::TinyGoldens()) {
    EXPECT_EQ(used.count(name), 1U) << name << " is recorded, but not compared with anything";
  }
}

}  // namespace
}  // namespace runnel
