#include "tests/support/attention_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "encoder/chunk_mask.h"
#include "encoder/encoder_weights.h"
#include "tests/support/matrices.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"
#include "tests/support/random_values.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel::testing {
namespace {

constexpr uint64_t kSeed = 11;

EncoderConfig OneLayer(const std::string& position) {
  EncoderConfig config = SmallConfig(position);
  config.num_layers = 1;
  return config;
}

}  // namespace

ModuleWeights::ModuleWeights(std::map<std::string, std::vector<double>> tensors, int64_t model_dim,
                             int64_t num_heads)
    : tensors_(std::move(tensors)), model_dim_(model_dim), num_heads_(num_heads) {}

double ModuleWeights::scale() const { return 1 / std::sqrt(static_cast<double>(head_dim())); }

std::vector<double> SinusoidsByFormula(int64_t position, int64_t model_dim) {
  std::vector<double> values;
  for (int64_t m = 0; m < model_dim / 2; ++m) {
    const long double exponent = -2.0L * static_cast<long double>(m) / model_dim;
    const long double angle = static_cast<long double>(position) * std::pow(10000.0L, exponent);
    values.push_back(static_cast<double>(std::sin(angle)));
    values.push_back(static_cast<double>(std::cos(angle)));
  }
  return values;
}

const double* ModuleWeights::Position(int64_t position, int64_t head) const {
  std::vector<double>& projected = positions_[position];
  if (projected.empty()) {
    const std::vector<double> sinusoids = SinusoidsByFormula(position, model_dim_);
    const std::vector<double>& weight = At("linear_pos.weight");
    projected = Has("linear_pos.bias") ? At("linear_pos.bias")
                                       : std::vector<double>(static_cast<size_t>(model_dim_));
    for (size_t i = 0; i < projected.size(); ++i) {
      for (size_t n = 0; n < sinusoids.size(); ++n) {
        projected[i] += weight[i * sinusoids.size() + n] * sinusoids[n];
      }
    }
  }
  return projected.data() + head * head_dim();
}

const double* ModuleWeights::Bias(const std::string& name, int64_t head) const {
  return At(name).data() + head * head_dim();
}

double ModuleWeights::Product(const double* q, double q_scale, const double* bias,
                              const double* k) const {
  double sum = 0;
  for (int64_t n = 0; n < head_dim(); ++n) {
    sum += (q_scale * q[n] + (bias == nullptr ? 0 : bias[n])) * k[n];
  }
  return sum;
}

Matrix RandomRows(int64_t rows, uint64_t seed) {
  NormalNumbers normal(seed);
  return MatrixOf(DataType::kFloat64, rows, SmallConfig().model_dim,
                  [&](int64_t, int64_t) { return static_cast<float>(normal()); });
}

AttentionReference::AttentionReference(const std::string& position, const MakeFormula& make_formula,
                                       const Arithmetic& arithmetic, const AttentionBias& bias)
    : type_(arithmetic.type) {
  EncoderConfig config = OneLayer(position);
  config.attention_bias = bias;
  RandomWeightSource source(type_, kSeed);
  const auto backend = arithmetic.MakeBackend(config, &source);
  const std::string name = AttentionName(0);
  attention_ = backend->MakeAttention(0, BindAttention(config, name, &source), nullptr);
  std::map<std::string, std::vector<double>> values;
  for (const auto& [full_name, tensor] : source.taken()) {
    const bool is_own = full_name.rfind(name + ".", 0) == 0;
    values[is_own ? full_name.substr(name.size() + 1) : full_name] = Float64Values(tensor);
  }
  weights_ = std::make_unique<ModuleWeights>(std::move(values), config.model_dim, config.num_heads);
  formula_ = make_formula(*weights_);
}

LayerState AttentionReference::InitialState() const {
  const RowRing empty(SmallConfig().model_dim, type_);
  LayerState state{empty, empty, empty};
  attention_->Initialize(&state);
  return state;
}

Matrix AttentionReference::Forward(ConstRows x, const std::vector<Segment>& segments) const {
  const Matrix input = Converted(x, type_);
  Matrix sum = input;
  attention_->Add(segments, input.rows(), sum.rows());
  const ConstRows before = input.rows();
  const ConstRows after = RowsOf(sum);
  return MatrixOf(DataType::kFloat64, x.count, x.dim, [&](int64_t row, int64_t column) {
    const int64_t index = row * x.dim + column;
    return ValueAt(after, index) - ValueAt(before, index);
  });
}

Matrix AttentionReference::Linear(ConstRows x, const std::string& name) const {
  const std::vector<double>& weight = weights_->At(name + ".weight");
  const double* bias =
      weights_->Has(name + ".bias") ? weights_->At(name + ".bias").data() : nullptr;
  return MatrixOf(DataType::kFloat64, x.count, x.dim, [&](int64_t row, int64_t output) {
    double sum = bias == nullptr ? 0 : bias[output];
    for (int64_t i = 0; i < x.dim; ++i) {
      sum += weight[static_cast<size_t>(output * x.dim + i)] * ValueAt(x, row * x.dim + i);
    }
    return sum;
  });
}

Matrix AttentionReference::Attend(ConstRows x, ConstRows cached_keys, ConstRows cached_values,
                                  int64_t offset, const Visible& visible) const {
  const EncoderConfig config = SmallConfig();
  const int64_t dim = config.model_dim;
  const int64_t head_dim = config.head_dim();
  const Matrix q = Linear(x, "linear_q");
  const Matrix k =
      Joined<Matrix>({Converted(cached_keys, DataType::kFloat64), Linear(x, "linear_k")});
  const Matrix v =
      Joined<Matrix>({Converted(cached_values, DataType::kFloat64), Linear(x, "linear_v")});
  const int64_t queries = q.count();
  const int64_t keys = k.count();
  const int64_t first_key = offset - (keys - queries);
  Matrix context = MatrixOf(DataType::kFloat64, queries, dim, [](int64_t, int64_t) { return 0; });
  for (int64_t head = 0; head < config.num_heads; ++head) {
    const int64_t column = head * head_dim;
    for (int64_t i = 0; i < queries; ++i) {
      const double* q_i = q.rows().float64(i) + column;
      const auto pair = [&](int64_t j) {
        return Pair{head,
                    offset + i,
                    first_key + j,
                    queries,
                    q_i,
                    k.rows().float64(j) + column,
                    i + 1 < queries ? q_i + dim : nullptr};
      };
      std::vector<double> weights(static_cast<size_t>(keys), 0.0);
      double total = 0;
      for (int64_t j = 0; j < keys; ++j) {
        if (!visible(i, j)) continue;
        weights[static_cast<size_t>(j)] = std::exp(formula_->Score(pair(j)));
        total += weights[static_cast<size_t>(j)];
      }
      double* out = context.rows().float64(i) + column;
      for (int64_t j = 0; j < keys; ++j) {
        const double weight = weights[static_cast<size_t>(j)] / total;
        if (weight == 0) continue;
        const double* v_j = v.rows().float64(j) + column;
        for (int64_t n = 0; n < head_dim; ++n) {
          out[n] += weight * (v_j[n] + formula_->ValueTerm(pair(j), n));
        }
      }
    }
  }
  return Linear(RowsOf(context), "linear_out");
}

namespace {

// The same module in every arithmetic: its weights are float32 values.
class EveryArithmetic {
 public:
  EveryArithmetic(const std::string& position, const MakeFormula& make_formula) {
    for (const Arithmetic& arithmetic : FullPrecision()) {
      modules_.emplace_back(arithmetic, AttentionReference(position, make_formula, arithmetic));
    }
  }

  // A segment of `rows` queries from frame `offset`, after `cached` frames.
  void Expect(int64_t rows, int64_t cached, int64_t offset, const std::optional<ChunkMask>& mask) {
    const Matrix x = RandomRows(rows, 1);
    const Matrix before = RandomRows(cached, 2);
    const auto visible = [&](int64_t i, int64_t j) {
      if (!mask) return true;
      const int64_t start = i / mask->chunk_size * mask->chunk_size;
      return j < start + mask->chunk_size &&
             (mask->left_context < 0 || j >= start - mask->left_context);
    };
    const AttentionReference& any = modules_.front().second;
    const Matrix expected =
        any.Attend(RowsOf(x), RowsOf(any.Linear(RowsOf(before), "linear_k")),
                   RowsOf(any.Linear(RowsOf(before), "linear_v")), offset, visible);
    for (const auto& [arithmetic, module] : modules_) {
      SCOPED_TRACE(arithmetic.name);
      LayerState state = module.InitialState();
      if (cached > 0) {
        module.Forward(RowsOf(before), {OneChunk(0, cached, offset - cached, &state, -1)});
      }
      Segment segment = OneChunk(0, rows, offset, &state, -1);
      if (mask) {
        segment.chunk_size = mask->chunk_size;
        segment.left_context = mask->left_context;
      }
      EXPECT_LE(RelativeError(module.Forward(RowsOf(x), {segment}), expected),
                arithmetic.FromExact());
    }
  }

 private:
  std::vector<std::pair<Arithmetic, AttentionReference>> modules_;
};

}  // namespace

void ExpectAttentionIs(const std::string& position, const MakeFormula& make_formula,
                       Chunks chunks) {
  SCOPED_TRACE(position);
  constexpr int64_t kFarAway = 10000007;
  EveryArithmetic modules(position, make_formula);
  for (const int64_t rows : {1, 2, 5, 16, 128, 129, 260}) {  // 128 queries are handled at a time
    SCOPED_TRACE(::testing::Message() << "whole utterance of " << rows);
    modules.Expect(rows, 0, 0, std::nullopt);
  }
  if (chunks == Chunks::kWholeUtteranceOnly) return;
  for (const int64_t rows : {1, 2, 5, 16, 129}) {
    for (const int64_t cached : {0, 1, 7, 70}) {
      SCOPED_TRACE(::testing::Message() << rows << " queries, " << cached << " cached keys");
      modules.Expect(rows, cached, cached, std::nullopt);
      if (rows <= 16) modules.Expect(rows, cached, kFarAway, std::nullopt);
    }
  }
  for (const int64_t rows : {37, 150}) {
    for (const int64_t chunk_size : {1, 16, 100, 400}) {
      for (const int64_t left_context : {0, 40, -1}) {
        SCOPED_TRACE(::testing::Message()
                     << rows << " frames, C " << chunk_size << ", M " << left_context);
        modules.Expect(rows, 0, 0, ChunkMask{chunk_size, left_context});
      }
    }
  }
}

}  // namespace runnel::testing
