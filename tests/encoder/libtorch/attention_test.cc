// Attention itself, whatever its position scheme: segments, what is kept, biases. That each scheme
// is its formula is tested beside it, in position/.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "encoder/encoder_weights.h"
#include "encoder/row_ring.h"
#include "encoder/rows.h"
#include "tests/support/arithmetic.h"
#include "tests/support/attention_reference.h"
#include "tests/support/matrices.h"
#include "tests/support/pair_formula.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"

namespace runnel {
namespace {

using testing::Arithmetic;
using testing::AttentionReference;
using testing::Converted;
using testing::Joined;
using testing::LibTorchArithmetic;
using testing::MatrixOf;
using testing::ModuleWeights;
using testing::OneChunk;
using testing::Pair;
using testing::RandomRows;
using testing::RelativeError;
using testing::RowsOf;

// A scheme that remembers something of its own for each key.
constexpr char kUnshifted[] = R"({"scheme": "unshifted", "linear_pos_bias": false,
                                  "query_scaling": "after_bias"})";

class UnshiftedFormula final : public testing::PairFormula {
 public:
  explicit UnshiftedFormula(const ModuleWeights& weights) : weights_(weights) {}

  double Score(const Pair& pair) const override {
    return weights_.scale() *
           (weights_.Product(pair.q, 1, weights_.Bias("pos_bias_u", pair.head), pair.k) +
            weights_.Product(pair.q, 1, weights_.Bias("pos_bias_v", pair.head),
                             weights_.Position(pair.key_frame, pair.head)));
  }

 private:
  const ModuleWeights& weights_;
};

// The last `left_context` rows; all rows for -1.
ConstRows Last(int64_t left_context, ConstRows rows) {
  const int64_t count = left_context < 0 ? rows.count : std::min(left_context, rows.count);
  return rows.Part(rows.count - count, count);
}

Matrix Times(double factor, const Matrix& matrix) {
  return MatrixOf(
      DataType::kFloat64, matrix.count(), matrix.dim(),
      [&](int64_t row, int64_t column) { return factor * matrix.rows().float64(row)[column]; });
}

// Oldest first, float64.
Matrix Kept(const RowRing& ring) {
  Matrix rows(ring.type(), ring.dim(), 0);
  for (int64_t i = 0; i < ring.size(); ++i) {
    std::memcpy(rows.AddRows(1).data, ring.Row(i),
                static_cast<size_t>(ring.dim() * BytesOf(ring.type())));
  }
  return Converted(rows, DataType::kFloat64);
}

class LibTorchAttentionTest : public ::testing::TestWithParam<DataType> {
 protected:
  Arithmetic arithmetic() const { return LibTorchArithmetic(GetParam()); }
  double tolerance() const { return arithmetic().FromExact(); }

  AttentionReference Reference(const AttentionBias& bias = {}) const {
    return AttentionReference(
        kUnshifted,
        [](const ModuleWeights& weights) { return std::make_unique<UnshiftedFormula>(weights); },
        arithmetic(), bias);
  }

  // Of a stream that has these keys and values behind it.
  LayerState State(const AttentionReference& reference, const Matrix& keys,
                   const Matrix& values) const {
    LayerState state = reference.InitialState();
    const auto append = [](const Matrix& matrix, RowRing* ring) {
      const Matrix rows = Converted(matrix, GetParam());
      ring->Append(rows.rows().data, rows.dim(), rows.count(), -1);
    };
    append(keys, &state.keys);
    append(values, &state.values);
    return state;
  }
};

INSTANTIATE_TEST_SUITE_P(Precisions, LibTorchAttentionTest,
                         ::testing::Values(DataType::kFloat32, DataType::kFloat64),
                         [](const auto& precision) {
                           return LibTorchArithmetic(precision.param).name;
                         });

TEST_P(LibTorchAttentionTest, SegmentsOfABatchDoNotMix) {
  const AttentionReference reference = Reference();
  struct Case {
    int64_t rows, cached, offset, left_context;
  };
  const std::vector<Case> cases = {{3, 7, 7, 4}, {1, 0, 0, 0}, {130, 2, 1000, -1}, {5, 5, 9, 20}};
  std::vector<Matrix> inputs, keys, values;
  std::vector<LayerState> states;
  for (size_t i = 0; i < cases.size(); ++i) {
    inputs.push_back(RandomRows(cases[i].rows, 10 + i));
    keys.push_back(RandomRows(cases[i].cached, 20 + i));
    values.push_back(RandomRows(cases[i].cached, 30 + i));
    states.push_back(State(reference, keys[i], values[i]));
  }
  std::vector<Segment> segments;
  int64_t row = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    segments.push_back(
        OneChunk(row, cases[i].rows, cases[i].offset, &states[i], cases[i].left_context));
    row += cases[i].rows;
  }
  const Matrix x = Joined(inputs);
  const Matrix y = reference.Forward(RowsOf(x), segments);
  ASSERT_EQ(y.count(), row);
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const Matrix expected =
        reference.Attend(RowsOf(inputs[i]), Last(cases[i].left_context, RowsOf(keys[i])),
                         Last(cases[i].left_context, RowsOf(values[i])), cases[i].offset);
    EXPECT_LE(RelativeError(y.rows().Part(segments[i].first_row, cases[i].rows), expected),
              tolerance());
  }
}

TEST_P(LibTorchAttentionTest, KeepsTheLeftContextOfKeysAndValues) {
  const AttentionReference reference = Reference();
  for (const int64_t left_context : {0, 2, 5, 8, 100, -1}) {
    SCOPED_TRACE(left_context);
    const Matrix x = RandomRows(3, 5);
    const Matrix keys = RandomRows(5, 6);
    const Matrix values = RandomRows(5, 7);
    LayerState state = State(reference, keys, values);
    const Matrix y = reference.Forward(RowsOf(x), {OneChunk(0, 3, 5, &state, left_context)});
    EXPECT_LE(RelativeError(y, reference.Attend(RowsOf(x), Last(left_context, RowsOf(keys)),
                                                Last(left_context, RowsOf(values)), 5)),
              tolerance());
    const int64_t kept = left_context < 0 ? 8 : std::min<int64_t>(8, left_context);
    const Matrix all_keys = Joined<Matrix>({keys, reference.Linear(RowsOf(x), "linear_k")});
    const Matrix all_values = Joined<Matrix>({values, reference.Linear(RowsOf(x), "linear_v")});
    const Matrix kept_keys = Kept(state.keys);
    const Matrix kept_values = Kept(state.values);
    EXPECT_LE(RelativeError(kept_keys, all_keys.rows().Part(8 - kept, kept)), tolerance());
    EXPECT_LE(RelativeError(kept_values, all_values.rows().Part(8 - kept, kept)), tolerance());
    // What the scheme keeps still belongs to the same frames.
    const Matrix next = RandomRows(4, 8);
    const Matrix y_next =
        reference.Forward(RowsOf(next), {OneChunk(0, 4, 8, &state, left_context)});
    EXPECT_LE(RelativeError(y_next, reference.Attend(RowsOf(next), RowsOf(kept_keys),
                                                     RowsOf(kept_values), 8)),
              tolerance());
  }
}

TEST_P(LibTorchAttentionTest, TheLeftContextMayChangeBetweenChunks) {
  const AttentionReference reference = Reference();
  LayerState state = reference.InitialState();
  int64_t offset = 0;
  for (const int64_t left_context : {40, 40, 3, 0, 50, -1, 7, -1, 0, 0}) {
    SCOPED_TRACE(::testing::Message() << "frame " << offset << ", M " << left_context);
    const Matrix x = RandomRows(11, static_cast<uint64_t>(offset));
    const Matrix keys = Kept(state.keys);
    const Matrix values = Kept(state.values);
    const Matrix y = reference.Forward(RowsOf(x), {OneChunk(0, 11, offset, &state, left_context)});
    EXPECT_LE(RelativeError(y, reference.Attend(RowsOf(x), Last(left_context, RowsOf(keys)),
                                                Last(left_context, RowsOf(values)), offset)),
              tolerance());
    offset += 11;
  }
}

TEST_P(LibTorchAttentionTest, LargeScoresDoNotOverflow) {
  const AttentionReference reference = Reference();
  const Matrix x = Times(1000, RandomRows(4, 8));
  LayerState state = State(reference, Times(1000, RandomRows(3, 9)), RandomRows(3, 10));
  const Matrix y = reference.Forward(RowsOf(x), {OneChunk(0, 4, 3, &state, -1)});
  for (int64_t i = 0; i < y.count() * y.dim(); ++i) {
    ASSERT_LT(std::abs(testing::ValueAt(RowsOf(y), i)), 1e5);  // false for NaN
  }
}

TEST_P(LibTorchAttentionTest, EachLayerHasItsBiasOnlyWhenTheModelSaysSo) {
  // Random biases that the module takes are in the reference too; those it must not take are not.
  for (const AttentionBias& bias : std::vector<AttentionBias>{{false, true, true, true},
                                                              {true, false, true, true},
                                                              {true, true, false, true},
                                                              {true, true, true, false},
                                                              {false, false, false, false}}) {
    testing::RandomWeightSource source(GetParam(), 1);
    EncoderConfig config = testing::SmallConfig(R"({"scheme": "none"})");
    config.attention_bias = bias;
    BindAttention(config, "a", &source);
    EXPECT_EQ(source.taken().count("a.linear_q.bias"), bias.query ? 1U : 0U);
    EXPECT_EQ(source.taken().count("a.linear_k.bias"), bias.key ? 1U : 0U);
    EXPECT_EQ(source.taken().count("a.linear_v.bias"), bias.value ? 1U : 0U);
    EXPECT_EQ(source.taken().count("a.linear_out.bias"), bias.out ? 1U : 0U);

    const AttentionReference reference = Reference(bias);
    const Matrix x = RandomRows(4, 8);
    const Matrix nothing = RandomRows(0, 1);
    LayerState state = reference.InitialState();
    const Matrix y = reference.Forward(RowsOf(x), {OneChunk(0, 4, 0, &state, -1)});
    EXPECT_LE(RelativeError(y, reference.Attend(RowsOf(x), RowsOf(nothing), RowsOf(nothing), 0)),
              tolerance());
  }
}

}  // namespace
}  // namespace runnel
