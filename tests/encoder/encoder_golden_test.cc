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

#include "encoder/conformer_layer.h"
#include "encoder/encoder.h"
#include "encoder/encoder_weights.h"
#include "encoder/libtorch/attention.h"
#include "encoder/libtorch/backend.h"
#include "encoder/libtorch/convolution.h"
#include "encoder/libtorch/dense.h"
#include "encoder/libtorch/tensor_rows.h"
#include "encoder/model_file/model_archive.h"
#include "tests/support/archive_files.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using libtorch::Copy;
using libtorch::View;
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
  PositionScheme Position() {
    return BuildPositions(TinyConfig().position, weights(), {std::string(kLayer) + ".self_attn"},
                          TinyConfig().attention_sizes())
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
    const RowRing empty(dim, libtorch::DataTypeOf(GetParam()));
    LayerState state{empty, empty, empty};
    const at::Tensor cnn_cache = Input("module_cnn_cache").t();
    libtorch::Append(cached ? cnn_cache : cnn_cache * 0, -1, &state.cnn_cache);
    if (cached) {
      libtorch::Append(Part(Input("module_att_cache"), 0), -1, &state.keys);
      libtorch::Append(Part(Input("module_att_cache"), 1), -1, &state.values);
    }
    return state;
  }

 private:
  const c10::InferenceMode guard_;  // as in the LibTorch backend
  std::map<std::string, at::Tensor> goldens_;
  Weights weights_;
};

INSTANTIATE_TEST_SUITE_P(Precisions, EncoderGoldenTest, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& precision) { return c10::toString(precision.param); });

// The names of the recorded values whose input is empty or cached.
std::string Suffix(bool cached) { return cached ? "_cached" : ""; }

std::vector<Segment> OneSegment(const at::Tensor& x, LayerState* state) {
  return {testing::OneChunk(0, x.size(0), 0, state, -1)};
}

TEST_P(EncoderGoldenTest, FeedForward) {
  const libtorch::FeedForward module(
      BindFeedForward(TinyConfig(), std::string(kLayer) + ".feed_forward", weights()), nullptr,
      TinyConfig().feed_forward);
  // Recorded before the 1/2 of a macaron layer.
  ExpectGolden(module.Forward(Input("module_x"), {}) * 2, "feed_forward");
}

TEST_P(EncoderGoldenTest, Attention) {
  const libtorch::Attention module(BindAttention(TinyConfig(), AttentionName(0), weights()),
                                   nullptr, TinyConfig(), Position());
  const at::Tensor x = Input("module_x");
  for (const bool cached : {false, true}) {
    LayerState state = State(cached);
    ExpectGolden(module.Forward(x, OneSegment(x, &state)), "attention" + Suffix(cached));
    const at::Tensor& keys_values = Golden("attention_keys_values" + Suffix(cached));
    EXPECT_LE(RelativeError(Copy(state.keys), Part(keys_values, 0)), FormulaTolerance(GetParam()));
    EXPECT_LE(RelativeError(Copy(state.values), Part(keys_values, 1)),
              FormulaTolerance(GetParam()));
  }
}

TEST_P(EncoderGoldenTest, Convolution) {
  const libtorch::Convolution module(
      BindConvolution(TinyConfig(), std::string(kLayer) + ".conv_module", weights()), nullptr,
      *TinyConfig().convolution);
  const at::Tensor x = Input("module_x");
  for (const bool cached : {false, true}) {
    LayerState state = State(cached);
    ExpectGolden(module.Forward(x, OneSegment(x, &state)), "convolution" + Suffix(cached));
    ExpectGolden(Copy(state.cnn_cache).t(), "convolution_next_cache" + Suffix(cached));
  }
}

TEST_P(EncoderGoldenTest, Layer) {
  const std::unique_ptr<const EncoderBackend> backend =
      MakeLibTorchBackend(TinyConfig(), weights());
  const ConformerLayer module(*backend, BindLayer(TinyConfig(), 0, weights()), 0, true);
  const at::Tensor x = Input("module_x");
  for (const bool cached : {false, true}) {
    LayerState state = State(cached);
    Matrix rows(View(x.contiguous()));
    module.Forward(OneSegment(x, &state), rows.rows());
    ExpectGolden(View(rows.rows()), "layer" + Suffix(cached));
  }
}

TEST_P(EncoderGoldenTest, Subsampling) {
  const Encoder encoder(TinyConfig(), weights(), *MakeLibTorchBackend(TinyConfig(), weights()));
  const at::Tensor features = Golden("features").to(at::kFloat).contiguous();
  bool seen = false;
  encoder.ForwardUnderMask(features.data_ptr<float>(), features.size(0), -1, -1,
                           [&](const std::string& name, ConstRows rows) {
                             if (name != "subsampling") return;
                             seen = true;
                             ExpectGolden(View(rows), "subsampling");
                           });
  EXPECT_TRUE(seen);
}

TEST_P(EncoderGoldenTest, WholeUtteranceUnderMasks) {
  const auto backend = MakeLibTorchBackend(TinyConfig(), weights());
  const Encoder encoder(TinyConfig(), weights(), *backend);
  const auto ctc_head = backend->MakeCtcHead(BindCtcHead(16, 7, weights()));
  weights()->CheckAllTaken();
  for (const ChunkSetting& mask : Masks()) {
    const at::Tensor rows =
        testing::ForwardUnderMask(encoder, Golden("features"), mask.chunk_size, mask.left_context);
    ExpectGolden(rows, "encode_" + mask.Name());
    ExpectGolden(View(ctc_head->LogProbs(View(rows)).rows()).clone(), "log_probs_" + mask.Name());
  }
}

TEST_P(EncoderGoldenTest, ChunkByChunk) {
  const Encoder encoder(TinyConfig(), weights(), *MakeLibTorchBackend(TinyConfig(), weights()));
  const at::Tensor features = Golden("features").to(at::kFloat).contiguous();
  std::vector<std::pair<ChunkSetting, std::string>> runs = {
      {{1, 2}, "encode_chunk_"}, {{4, 8}, "encode_chunk_"}, {{7, -1}, "encode_chunk_"}};
  for (const ChunkSetting& mask : Masks()) runs.emplace_back(mask, "encode_");
  for (const auto& [setting, prefix] : runs) {
    ExpectGolden(testing::RunAlone(encoder, features, setting.chunk_size, setting.left_context),
                 prefix + setting.Name());
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
