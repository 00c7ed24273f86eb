// Relative attention against the formula written out pair by pair.
#include "encoder/relative_attention.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::FormulaTolerance;
using testing::RelativeError;
using testing::SmallConfig;

constexpr char kName[] = "encoder.encoders.0.self_attn";
constexpr uint64_t kSeed = 11;

at::Tensor RandomRows(int64_t rows, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randn({rows, SmallConfig().model_dim}, generator, at::TensorOptions(at::kDouble));
}

// True where query i of a chunk sees key j.
using Visible = std::function<bool(int64_t i, int64_t j)>;

// The module's weights, and attention as its definition says, one pair at a time.
class Reference {
 public:
  explicit Reference(at::ScalarType dtype) {
    for (const auto& [name, tensor] : testing::RandomWeights(SmallConfig(), kSeed)) {
      if (name.rfind(std::string(kName) + ".", 0) == 0) weights_[name] = tensor;
    }
    Weights weights(weights_, dtype, "random weights");
    attention_.emplace(&weights, kName, SmallConfig());
    weights.CheckAllTaken();
  }

  const RelativeAttention& attention() const { return *attention_; }

  // A state whose caches hold these rows.
  LayerState State(const at::Tensor& keys, const at::Tensor& values) const {
    LayerState state{attention_->InitialCache(), attention_->InitialCache(),
                     attention_->InitialCache()};
    state.keys.Append(keys);
    state.values.Append(values);
    return state;
  }

  // x: (C, d); keys, values: (M', d) cached. Returns (C, d), float64.
  at::Tensor Attend(
      const at::Tensor& x, const at::Tensor& cached_keys, const at::Tensor& cached_values,
      const Visible& visible = [](int64_t, int64_t) { return true; }) const {
    const int64_t dim = SmallConfig().model_dim;
    const int64_t head_dim = SmallConfig().head_dim();
    const at::Tensor q = Linear(x, "linear_q");
    const at::Tensor k = at::cat({cached_keys, Linear(x, "linear_k")});
    const at::Tensor v = at::cat({cached_values, Linear(x, "linear_v")});
    const at::Tensor u_tensor = Tensor("pos_bias_u").flatten();
    const at::Tensor v_tensor = Tensor("pos_bias_v").flatten();
    const double* bias_u = u_tensor.data_ptr<double>();
    const double* bias_v = v_tensor.data_ptr<double>();
    const int64_t queries = q.size(0);
    const int64_t keys = k.size(0);
    const int64_t cached = keys - queries;
    const at::Tensor positions = Positions(keys - 1, 1 - queries);
    at::Tensor context = at::zeros({queries, dim}, at::kDouble);
    for (int64_t i = 0; i < queries; ++i) {
      const double* q_i = q.data_ptr<double>() + i * dim;
      for (int64_t head = 0; head < SmallConfig().num_heads; ++head) {
        std::vector<double> weights(static_cast<size_t>(keys), 0.0);
        double total = 0;
        for (int64_t j = 0; j < keys; ++j) {
          if (!visible(i, j)) continue;
          const int64_t distance = cached + i - j;
          const double* k_j = k.data_ptr<double>() + j * dim;
          const double* p = positions.data_ptr<double>() + (keys - 1 - distance) * dim;
          double score = 0;
          for (int64_t n = head * head_dim; n < (head + 1) * head_dim; ++n) {
            score += (q_i[n] + bias_u[n]) * k_j[n] + (q_i[n] + bias_v[n]) * p[n];
          }
          weights[static_cast<size_t>(j)] =
              std::exp(score / std::sqrt(static_cast<double>(head_dim)));
          total += weights[static_cast<size_t>(j)];
        }
        double* out = context.data_ptr<double>() + i * dim;
        for (int64_t j = 0; j < keys; ++j) {
          const double* v_j = v.data_ptr<double>() + j * dim;
          for (int64_t n = head * head_dim; n < (head + 1) * head_dim; ++n) {
            out[n] += weights[static_cast<size_t>(j)] / total * v_j[n];
          }
        }
      }
    }
    return Linear(context, "linear_out");
  }

  at::Tensor Linear(const at::Tensor& x, const std::string& name) const {
    return at::linear(x, Tensor(name + ".weight"), Tensor(name + ".bias")).contiguous();
  }

 private:
  at::Tensor Tensor(const std::string& name) const {
    return weights_.at(std::string(kName) + "." + name).to(at::kDouble).contiguous();
  }

  // W_pos PE(r) for r = first down to last.
  at::Tensor Positions(int64_t first, int64_t last) const {
    const int64_t dim = SmallConfig().model_dim;
    at::Tensor sinusoids = at::empty({first - last + 1, dim}, at::kDouble);
    double* out = sinusoids.data_ptr<double>();
    for (int64_t r = first; r >= last; --r) {
      for (int64_t m = 0; m < dim / 2; ++m) {
        const double angle =
            static_cast<double>(r) *
            std::pow(10000.0, -2.0 * static_cast<double>(m) / static_cast<double>(dim));
        *out++ = std::sin(angle);
        *out++ = std::cos(angle);
      }
    }
    return at::linear(sinusoids, Tensor("linear_pos.weight")).contiguous();
  }

  std::map<std::string, at::Tensor> weights_;
  std::optional<RelativeAttention> attention_;
};

TEST(RelShiftTest, NumbersOfTheReferenceNote) {
  // The note's rows 1..7, 8..14, 15..21 have one column more than C = 3, L = 4 needs.
  const at::Tensor table =
      at::arange(1, 22, at::kLong).view({1, 3, 7}).narrow(2, 0, 6).contiguous();
  const at::Tensor expected =
      at::tensor({3, 4, 5, 6, 9, 10, 11, 12, 15, 16, 17, 18}, at::kLong).view({1, 3, 4});
  EXPECT_TRUE(at::equal(RelShift(table, 4), expected));
}

TEST(RelShiftTest, OneQueryIsNotShifted) {
  const at::Tensor table = at::arange(10, at::kLong).view({2, 1, 5});
  EXPECT_TRUE(at::equal(RelShift(table, 5), table));
}

TEST(RelShiftTest, PicksTheDistanceOfEachPair) {
  for (const int64_t queries : {1, 2, 5}) {
    for (const int64_t cached : {0, 1, 7}) {
      const int64_t keys = cached + queries;
      // Two heads, whose distances differ by 100, behind another tensor's memory.
      const at::Tensor one = keys - 1 - at::arange(keys + queries - 1, at::kLong);
      const at::Tensor head = one.expand({1, queries, -1});
      const at::Tensor table = at::cat({head - 100, head, head + 100}).narrow(0, 1, 2);
      const at::Tensor shifted = RelShift(table, keys);
      for (int64_t i = 0; i < queries; ++i) {
        for (int64_t j = 0; j < keys; ++j) {
          EXPECT_EQ(shifted[0][i][j].item<int64_t>(), cached + i - j);
          EXPECT_EQ(shifted[1][i][j].item<int64_t>(), cached + i - j + 100);
        }
      }
    }
  }
}

class RelativeAttentionTest : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  at::ScalarType dtype() const { return GetParam(); }
  double tolerance() const { return FormulaTolerance(dtype()); }

 private:
  const c10::InferenceMode guard_;  // as in Encoder::Step
};

INSTANTIATE_TEST_SUITE_P(Precisions, RelativeAttentionTest,
                         ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& precision) { return c10::toString(precision.param); });

TEST_P(RelativeAttentionTest, IsTheFormula) {
  const Reference reference(dtype());
  // 128 queries are handled at a time.
  for (const int64_t chunk : {1, 2, 5, 16, 127, 128, 129, 300}) {
    for (const int64_t cached : {0, 1, 7, 200}) {
      SCOPED_TRACE(::testing::Message() << chunk << " queries, " << cached << " cached keys");
      const at::Tensor x = RandomRows(chunk, 1);
      const at::Tensor keys = RandomRows(cached, 2);
      const at::Tensor values = RandomRows(cached, 3);
      LayerState state = reference.State(keys, values);
      const at::Tensor y =
          reference.attention().Forward(x.to(dtype()), {{0, chunk, &state, -1, std::nullopt}});
      EXPECT_EQ(y.scalar_type(), dtype());
      EXPECT_LE(RelativeError(y, reference.Attend(x, keys, values)), tolerance());
    }
  }
}

TEST_P(RelativeAttentionTest, UnderAChunkMask) {
  const Reference reference(dtype());
  const at::Tensor nothing = RandomRows(0, 1);
  for (const int64_t frames : {1, 37, 150, 261}) {
    const at::Tensor x = RandomRows(frames, 4);
    for (const int64_t chunk : {1, 3, 16, 100, 400}) {
      for (const int64_t left : {0, 1, 40, -1}) {
        SCOPED_TRACE(::testing::Message() << frames << " frames, C " << chunk << ", M " << left);
        LayerState state = reference.State(nothing, nothing);
        const at::Tensor y = reference.attention().Forward(
            x.to(dtype()), {{0, frames, &state, -1, ChunkMask{chunk, left}}});
        const auto visible = [&](int64_t i, int64_t j) {
          const int64_t start = i / chunk * chunk;
          return j < start + chunk && (left < 0 || j >= start - left);
        };
        EXPECT_LE(RelativeError(y, reference.Attend(x, nothing, nothing, visible)), tolerance());
      }
    }
  }
}

TEST_P(RelativeAttentionTest, SegmentsOfABatchDoNotMix) {
  const Reference reference(dtype());
  struct Case {
    int64_t rows, cached, left_context;
  };
  const std::vector<Case> cases = {{3, 7, 4}, {1, 0, 0}, {130, 2, -1}, {5, 5, 20}};
  std::vector<at::Tensor> inputs, keys, values;
  std::vector<LayerState> states;
  for (size_t i = 0; i < cases.size(); ++i) {
    inputs.push_back(RandomRows(cases[i].rows, 10 + i));
    keys.push_back(RandomRows(cases[i].cached, 20 + i));
    values.push_back(RandomRows(cases[i].cached, 30 + i));
    states.push_back(reference.State(keys[i], values[i]));
  }
  LayerBatch batch;
  int64_t row = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    batch.push_back({row, cases[i].rows, &states[i], cases[i].left_context, std::nullopt});
    row += cases[i].rows;
  }
  const at::Tensor y = reference.attention().Forward(at::cat(inputs).to(dtype()), batch);
  ASSERT_EQ(y.size(0), row);
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const at::Tensor expected = reference.Attend(inputs[i], keys[i], values[i]);
    EXPECT_LE(RelativeError(y.narrow(0, batch[i].first_row, cases[i].rows), expected), tolerance());
  }
}

TEST_P(RelativeAttentionTest, KeepsTheLeftContextOfKeysAndValues) {
  const Reference reference(dtype());
  for (const int64_t left_context : {0, 2, 5, 8, 100, -1}) {
    SCOPED_TRACE(left_context);
    const at::Tensor x = RandomRows(3, 5);
    const at::Tensor keys = RandomRows(5, 6);
    const at::Tensor values = RandomRows(5, 7);
    LayerState state = reference.State(keys, values);
    const at::Tensor y =
        reference.attention().Forward(x.to(dtype()), {{0, 3, &state, left_context, std::nullopt}});
    // The limit is for the next chunk: this one sees all that the state held.
    EXPECT_LE(RelativeError(y, reference.Attend(x, keys, values)), tolerance());
    const int64_t kept = left_context < 0 ? 8 : std::min<int64_t>(8, left_context);
    const at::Tensor all_keys = at::cat({keys, reference.Linear(x, "linear_k")});
    const at::Tensor all_values = at::cat({values, reference.Linear(x, "linear_v")});
    EXPECT_LE(RelativeError(state.keys.Rows(), all_keys.narrow(0, 8 - kept, kept)), tolerance());
    EXPECT_LE(RelativeError(state.values.Rows(), all_values.narrow(0, 8 - kept, kept)),
              tolerance());
  }
}

TEST_P(RelativeAttentionTest, LargeScoresDoNotOverflow) {
  const Reference reference(dtype());
  const at::Tensor x = RandomRows(4, 8) * 1000;
  LayerState state = reference.State(RandomRows(3, 9) * 1000, RandomRows(3, 10));
  const at::Tensor y =
      reference.attention().Forward(x.to(dtype()), {{0, 4, &state, -1, std::nullopt}});
  EXPECT_TRUE(y.abs().max().item<double>() < 1e5);  // false for NaN
}

}  // namespace
}  // namespace runnel
