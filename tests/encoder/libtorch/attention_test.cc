// Attention itself, whatever its position scheme: segments, what is kept, biases. That each scheme
// is its formula is tested beside it, in position/.
#include "encoder/libtorch/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "encoder/encoder_weights.h"
#include "encoder/libtorch/tensor_rows.h"
#include "tests/support/attention_reference.h"
#include "tests/support/pair_formula.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using libtorch::Copy;
using testing::AttentionReference;
using testing::FormulaTolerance;
using testing::ModuleWeights;
using testing::OneChunk;
using testing::Pair;
using testing::RandomRows;
using testing::RelativeError;

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
at::Tensor Last(int64_t left_context, const at::Tensor& rows) {
  const int64_t count = left_context < 0 ? rows.size(0) : std::min(left_context, rows.size(0));
  return rows.narrow(0, rows.size(0) - count, count);
}

class AttentionTest : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  at::ScalarType dtype() const { return GetParam(); }
  double tolerance() const { return FormulaTolerance(dtype()); }

  AttentionReference Reference(const AttentionBias& bias = {}) const {
    return AttentionReference(
        kUnshifted,
        [](const ModuleWeights& weights) { return std::make_unique<UnshiftedFormula>(weights); },
        dtype(), bias);
  }

 private:
  const c10::InferenceMode guard_;  // as in the LibTorch backend
};

INSTANTIATE_TEST_SUITE_P(Precisions, AttentionTest, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& precision) { return c10::toString(precision.param); });

TEST_P(AttentionTest, SegmentsOfABatchDoNotMix) {
  const AttentionReference reference = Reference();
  struct Case {
    int64_t rows, cached, offset, left_context;
  };
  const std::vector<Case> cases = {{3, 7, 7, 4}, {1, 0, 0, 0}, {130, 2, 1000, -1}, {5, 5, 9, 20}};
  std::vector<at::Tensor> inputs, keys, values;
  std::vector<LayerState> states;
  for (size_t i = 0; i < cases.size(); ++i) {
    inputs.push_back(RandomRows(cases[i].rows, 10 + i));
    keys.push_back(RandomRows(cases[i].cached, 20 + i));
    values.push_back(RandomRows(cases[i].cached, 30 + i));
    states.push_back(reference.State(keys[i], values[i]));
  }
  std::vector<Segment> segments;
  int64_t row = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    segments.push_back(
        OneChunk(row, cases[i].rows, cases[i].offset, &states[i], cases[i].left_context));
    row += cases[i].rows;
  }
  const at::Tensor y = reference.attention().Forward(at::cat(inputs).to(dtype()), segments);
  ASSERT_EQ(y.size(0), row);
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const at::Tensor expected =
        reference.Attend(inputs[i], Last(cases[i].left_context, keys[i]),
                         Last(cases[i].left_context, values[i]), cases[i].offset);
    EXPECT_LE(RelativeError(y.narrow(0, segments[i].first_row, cases[i].rows), expected),
              tolerance());
  }
}

TEST_P(AttentionTest, KeepsTheLeftContextOfKeysAndValues) {
  const AttentionReference reference = Reference();
  for (const int64_t left_context : {0, 2, 5, 8, 100, -1}) {
    SCOPED_TRACE(left_context);
    const at::Tensor x = RandomRows(3, 5);
    const at::Tensor keys = RandomRows(5, 6);
    const at::Tensor values = RandomRows(5, 7);
    LayerState state = reference.State(keys, values);
    const at::Tensor y =
        reference.attention().Forward(x.to(dtype()), {OneChunk(0, 3, 5, &state, left_context)});
    EXPECT_LE(RelativeError(
                  y, reference.Attend(x, Last(left_context, keys), Last(left_context, values), 5)),
              tolerance());
    const int64_t kept = left_context < 0 ? 8 : std::min<int64_t>(8, left_context);
    const at::Tensor all_keys = at::cat({keys, reference.Linear(x, "linear_k")});
    const at::Tensor all_values = at::cat({values, reference.Linear(x, "linear_v")});
    EXPECT_LE(RelativeError(Copy(state.keys), all_keys.narrow(0, 8 - kept, kept)), tolerance());
    EXPECT_LE(RelativeError(Copy(state.values), all_values.narrow(0, 8 - kept, kept)), tolerance());
    // What the scheme keeps still belongs to the same frames.
    const at::Tensor next = RandomRows(4, 8);
    const at::Tensor kept_keys = Copy(state.keys).to(at::kDouble);
    const at::Tensor kept_values = Copy(state.values).to(at::kDouble);
    const at::Tensor y_next =
        reference.attention().Forward(next.to(dtype()), {OneChunk(0, 4, 8, &state, left_context)});
    EXPECT_LE(RelativeError(y_next, reference.Attend(next, kept_keys, kept_values, 8)),
              tolerance());
  }
}

TEST_P(AttentionTest, TheLeftContextMayChangeBetweenChunks) {
  const AttentionReference reference = Reference();
  LayerState state = reference.State(RandomRows(0, 1), RandomRows(0, 1));
  int64_t offset = 0;
  for (const int64_t left_context : {40, 40, 3, 0, 50, -1, 7, -1, 0, 0}) {
    SCOPED_TRACE(::testing::Message() << "frame " << offset << ", M " << left_context);
    const at::Tensor x = RandomRows(11, static_cast<uint64_t>(offset));
    const at::Tensor keys = Copy(state.keys).to(at::kDouble);
    const at::Tensor values = Copy(state.values).to(at::kDouble);
    const at::Tensor y = reference.attention().Forward(
        x.to(dtype()), {OneChunk(0, 11, offset, &state, left_context)});
    EXPECT_LE(RelativeError(y, reference.Attend(x, Last(left_context, keys),
                                                Last(left_context, values), offset)),
              tolerance());
    offset += 11;
  }
}

TEST_P(AttentionTest, LargeScoresDoNotOverflow) {
  const AttentionReference reference = Reference();
  const at::Tensor x = RandomRows(4, 8) * 1000;
  LayerState state = reference.State(RandomRows(3, 9) * 1000, RandomRows(3, 10));
  const at::Tensor y =
      reference.attention().Forward(x.to(dtype()), {OneChunk(0, 4, 3, &state, -1)});
  EXPECT_TRUE(y.abs().max().item<double>() < 1e5);  // false for NaN
}

TEST_P(AttentionTest, EachLayerHasItsBiasOnlyWhenTheModelSaysSo) {
  // Random biases that the module takes are in the reference too; those it must not take are not.
  for (const AttentionBias& bias : std::vector<AttentionBias>{{false, true, true, true},
                                                              {true, false, true, true},
                                                              {true, true, false, true},
                                                              {true, true, true, false},
                                                              {false, false, false, false}}) {
    testing::RandomWeightSource source(dtype(), 1);
    EncoderConfig config = testing::SmallConfig(R"({"scheme": "none"})");
    config.attention_bias = bias;
    BindAttention(config, "a", &source);
    EXPECT_EQ(source.taken().count("a.linear_q.bias"), bias.query ? 1U : 0U);
    EXPECT_EQ(source.taken().count("a.linear_k.bias"), bias.key ? 1U : 0U);
    EXPECT_EQ(source.taken().count("a.linear_v.bias"), bias.value ? 1U : 0U);
    EXPECT_EQ(source.taken().count("a.linear_out.bias"), bias.out ? 1U : 0U);

    const AttentionReference reference = Reference(bias);
    const at::Tensor x = RandomRows(4, 8);
    const at::Tensor nothing = RandomRows(0, 1);
    LayerState state = reference.State(nothing, nothing);
    const at::Tensor y =
        reference.attention().Forward(x.to(dtype()), {OneChunk(0, 4, 0, &state, -1)});
    EXPECT_LE(RelativeError(y, reference.Attend(x, nothing, nothing, 0)), tolerance());
  }
}

}  // namespace
}  // namespace runnel
