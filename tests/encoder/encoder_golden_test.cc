// The encoder and each of its modules against PyTorch's recorded values.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "encoder/conformer_layer.h"
#include "encoder/encoder.h"
#include "encoder/encoder_weights.h"
#include "encoder/model_file/model_archive.h"
#include "encoder/model_file/tensor.h"
#include "encoder/rows.h"
#include "tests/support/archive_files.h"
#include "tests/support/arithmetic.h"
#include "tests/support/matrices.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"

namespace runnel {
namespace {

using testing::Arithmetic;
using testing::Converted;
using testing::MatrixOf;
using testing::RelativeError;
using testing::RowsOf;
using testing::ValueAt;

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

// Rows of a ring, oldest first.
Matrix Copy(const RowRing& ring) {
  std::vector<ConstRows> rows = {{ring.type(), nullptr, 0, ring.dim()}};
  for (int64_t i = 0; i < ring.size(); ++i)
    rows.push_back({ring.type(), ring.Row(i), 1, ring.dim()});
  return testing::Joined(rows);
}

class EncoderGoldenTest : public ::testing::TestWithParam<Arithmetic> {
 protected:
  EncoderGoldenTest()
      : goldens_(testing::TinyGoldens()),
        weights_(ReadModelArchive(testing::TinyModelPath()).tensors, GetParam().type, "tiny.pt"),
        backend_(GetParam().MakeBackend(TinyConfig(), &weights_)) {}

  const Tensor& Golden(const std::string& name) const { return goldens_.at(name); }

  // In the precision under test.
  Matrix Input(const std::string& name) const { return Converted(Golden(name), GetParam().type); }
  // float32
  Matrix Features() const { return Converted(Golden("features"), DataType::kFloat32); }

  template <class Actual>
  void ExpectGolden(const Actual& actual, const std::string& name) const {
    EXPECT_EQ(RowsOf(actual).type, GetParam().type);
    EXPECT_LE(RelativeError(actual, Golden(name)), GetParam().FromExact()) << name;
  }

  Weights* weights() { return &weights_; }
  const EncoderBackend& backend() const { return *backend_; }

  // What a module adds to rows, times `scale`.
  Matrix Added(const ResidualModule& module, const Matrix& x, LayerState* state,
               double scale = 1) const {
    Matrix sum = x;
    module.Add({testing::OneChunk(0, x.count(), 0, state, -1)}, x.rows(), sum.rows());
    return MatrixOf(x.type(), x.count(), x.dim(), [&](int64_t row, int64_t column) {
      const int64_t index = row * x.dim() + column;
      return scale * (ValueAt(RowsOf(sum), index) - ValueAt(RowsOf(x), index));
    });
  }

  // (H, rows, 2 d_k), as recorded, to rows of keys (part 0) or values (part 1): (rows, d).
  static Matrix Part(const Tensor& keys_values, int64_t part) {
    const int64_t num_rows = keys_values.size(1);
    const int64_t head_dim = keys_values.size(2) / 2;
    return MatrixOf(DataType::kFloat64, num_rows, keys_values.size(0) * head_dim,
                    [&](int64_t row, int64_t column) {
                      const int64_t head = column / head_dim;
                      return ValueAt(RowsOf(keys_values), (head * num_rows + row) * 2 * head_dim +
                                                              part * head_dim + column % head_dim);
                    });
  }

  // A state without any context, or with the recorded caches.
  LayerState State(bool cached) const {
    const RowRing empty(TinyConfig().model_dim, GetParam().type);
    LayerState state{empty, empty, empty};
    const auto append = [&](const Matrix& values, RowRing* ring) {
      const Matrix rows = Converted(values, GetParam().type);
      ring->Append(rows.rows().data, rows.dim(), rows.count(), -1);
    };
    const Tensor frames = Transposed(Golden("module_cnn_cache"));
    const auto zero = [](int64_t, int64_t) { return 0; };
    append(cached ? Converted(frames, DataType::kFloat64)
                  : MatrixOf(DataType::kFloat64, frames.size(0), frames.size(1), zero),
           &state.cnn_cache);
    if (cached) {
      append(Part(Golden("module_att_cache"), 0), &state.keys);
      append(Part(Golden("module_att_cache"), 1), &state.values);
    }
    return state;
  }

 private:
  std::map<std::string, Tensor> goldens_;
  Weights weights_;
  std::unique_ptr<const EncoderBackend> backend_;
};

INSTANTIATE_TEST_SUITE_P(FullPrecision, EncoderGoldenTest,
                         ::testing::ValuesIn(testing::FullPrecision()),
                         [](const auto& arithmetic) { return arithmetic.param.name; });

// The names of the recorded values whose input is empty or cached.
std::string Suffix(bool cached) { return cached ? "_cached" : ""; }

TEST_P(EncoderGoldenTest, FeedForward) {
  const auto module = backend().MakeFeedForward(
      BindFeedForward(TinyConfig(), std::string(kLayer) + ".feed_forward", weights()), nullptr);
  // Recorded before the 1/2 of a macaron layer.
  ExpectGolden(Added(*module, Input("module_x"), nullptr, 2), "feed_forward");
}

TEST_P(EncoderGoldenTest, Attention) {
  const auto module =
      backend().MakeAttention(0, BindAttention(TinyConfig(), AttentionName(0), weights()), nullptr);
  for (const bool cached : {false, true}) {
    LayerState state = State(cached);
    ExpectGolden(Added(*module, Input("module_x"), &state), "attention" + Suffix(cached));
    const Tensor& keys_values = Golden("attention_keys_values" + Suffix(cached));
    EXPECT_LE(RelativeError(Copy(state.keys), Part(keys_values, 0)), GetParam().FromExact());
    EXPECT_LE(RelativeError(Copy(state.values), Part(keys_values, 1)), GetParam().FromExact());
  }
}

TEST_P(EncoderGoldenTest, Convolution) {
  const auto module = backend().MakeConvolution(
      BindConvolution(TinyConfig(), 0, std::string(kLayer) + ".conv_module", weights()), nullptr);
  for (const bool cached : {false, true}) {
    LayerState state = State(cached);
    ExpectGolden(Added(*module, Input("module_x"), &state), "convolution" + Suffix(cached));
    EXPECT_LE(RelativeError(Copy(state.cnn_cache),
                            Transposed(Golden("convolution_next_cache" + Suffix(cached)))),
              GetParam().FromExact());
  }
}

TEST_P(EncoderGoldenTest, Layer) {
  const ConformerLayer module(backend(), BindConformerLayer(TinyConfig(), 0, weights()), 0, true);
  for (const bool cached : {false, true}) {
    LayerState state = State(cached);
    LayerFrames frames{{}, Input("module_x")};
    frames.segments = {testing::OneChunk(0, frames.rows.count(), 0, &state, -1)};
    module.Forward(&frames);
    ExpectGolden(frames.rows, "layer" + Suffix(cached));
  }
}

TEST_P(EncoderGoldenTest, Subsampling) {
  const Encoder encoder(TinyConfig(), weights(), backend());
  const Matrix features = Features();
  bool seen = false;
  encoder.ForwardUnderMask(features.rows().float32(), features.count(), -1, -1,
                           [&](const std::string& name, ConstRows rows) {
                             if (name != "subsampling") return;
                             seen = true;
                             ExpectGolden(rows, "subsampling");
                           });
  EXPECT_TRUE(seen);
}

TEST_P(EncoderGoldenTest, WholeUtteranceUnderMasks) {
  const Encoder encoder(TinyConfig(), weights(), backend());
  const auto ctc_head = backend().MakeCtcHead(BindCtcHead(16, 7, weights()));
  weights()->CheckAllTaken();
  for (const ChunkSetting& mask : Masks()) {
    const Matrix rows =
        testing::ForwardUnderMask(encoder, Features(), mask.chunk_size, mask.left_context);
    ExpectGolden(rows, "encode_" + mask.Name());
    ExpectGolden(ctc_head->LogProbs(rows.rows()), "log_probs_" + mask.Name());
  }
}

TEST_P(EncoderGoldenTest, ChunkByChunk) {
  const Encoder encoder(TinyConfig(), weights(), backend());
  std::vector<std::pair<ChunkSetting, std::string>> runs = {
      {{1, 2}, "encode_chunk_"}, {{4, 8}, "encode_chunk_"}, {{7, -1}, "encode_chunk_"}};
  for (const ChunkSetting& mask : Masks()) runs.emplace_back(mask, "encode_");
  for (const auto& [setting, prefix] : runs) {
    ExpectGolden(testing::RunAlone(encoder, Features(), setting.chunk_size, setting.left_context),
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
