#include "tests/support/attention_reference.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "encoder/chunk_mask.h"
#include "encoder/encoder_weights.h"
#include "encoder/libtorch/tensor_rows.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel::testing {
namespace {

constexpr char kName[] = "encoder.encoders.0.self_attn";
constexpr uint64_t kSeed = 11;

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

at::Tensor RandomRows(int64_t rows, uint64_t seed) {
  at::Generator generator = at::detail::createCPUGenerator(seed);
  return at::randn({rows, SmallConfig().model_dim}, generator, at::TensorOptions(at::kDouble));
}

AttentionReference::AttentionReference(const std::string& position, const MakeFormula& make_formula,
                                       at::ScalarType dtype, const AttentionBias& bias)
    : type_(libtorch::DataTypeOf(dtype)) {
  EncoderConfig config = SmallConfig(position);
  config.attention_bias = bias;
  RandomWeightSource source(dtype, kSeed);
  const PositionModules modules =
      BuildPositions(config.position, &source, {kName}, config.attention_sizes());
  attention_.emplace(BindAttention(config, kName, &source), nullptr, config, modules.layers.at(0));
  const std::string prefix = std::string(kName) + ".";
  std::map<std::string, std::vector<double>> values;
  for (const auto& [name, tensor] : source.taken()) {
    const std::string short_name = name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
    // Rounded as the module's are.
    tensors_[short_name] = tensor.to(at::kDouble).contiguous();
    const double* data = tensors_[short_name].data_ptr<double>();
    values[short_name].assign(data, data + tensor.numel());
  }
  weights_ = std::make_unique<ModuleWeights>(std::move(values), config.model_dim, config.num_heads);
  formula_ = make_formula(*weights_);
}

LayerState AttentionReference::State(const at::Tensor& keys, const at::Tensor& values) const {
  const RowRing empty(SmallConfig().model_dim, type_);
  LayerState state{empty, empty, empty};
  libtorch::Append(keys.to(libtorch::ScalarTypeOf(type_)), -1, &state.keys);
  libtorch::Append(values.to(libtorch::ScalarTypeOf(type_)), -1, &state.values);
  return state;
}

at::Tensor AttentionReference::Linear(const at::Tensor& x, const std::string& name) const {
  const at::Tensor y = at::linear(x, tensors_.at(name + ".weight"));
  const auto bias = tensors_.find(name + ".bias");
  return (bias == tensors_.end() ? y : y + bias->second).contiguous();
}

at::Tensor AttentionReference::Attend(const at::Tensor& x, const at::Tensor& cached_keys,
                                      const at::Tensor& cached_values, int64_t offset,
                                      const Visible& visible) const {
  const EncoderConfig config = SmallConfig();
  const int64_t dim = config.model_dim;
  const int64_t head_dim = config.head_dim();
  const at::Tensor q = Linear(x, "linear_q");
  const at::Tensor k = at::cat({cached_keys, Linear(x, "linear_k")});
  const at::Tensor v = at::cat({cached_values, Linear(x, "linear_v")});
  const int64_t queries = q.size(0);
  const int64_t keys = k.size(0);
  const int64_t first_key = offset - (keys - queries);
  at::Tensor context = at::zeros({queries, dim}, at::kDouble);
  for (int64_t head = 0; head < config.num_heads; ++head) {
    const int64_t column = head * head_dim;
    for (int64_t i = 0; i < queries; ++i) {
      const double* q_i = q.data_ptr<double>() + i * dim + column;
      const auto pair = [&](int64_t j) {
        return Pair{head,
                    offset + i,
                    first_key + j,
                    queries,
                    q_i,
                    k.data_ptr<double>() + j * dim + column,
                    i + 1 < queries ? q_i + dim : nullptr};
      };
      std::vector<double> weights(static_cast<size_t>(keys), 0.0);
      double total = 0;
      for (int64_t j = 0; j < keys; ++j) {
        if (!visible(i, j)) continue;
        weights[static_cast<size_t>(j)] = std::exp(formula_->Score(pair(j)));
        total += weights[static_cast<size_t>(j)];
      }
      double* out = context.data_ptr<double>() + i * dim + column;
      for (int64_t j = 0; j < keys; ++j) {
        const double weight = weights[static_cast<size_t>(j)] / total;
        if (weight == 0) continue;
        const double* v_j = v.data_ptr<double>() + j * dim + column;
        for (int64_t n = 0; n < head_dim; ++n) {
          out[n] += weight * (v_j[n] + formula_->ValueTerm(pair(j), n));
        }
      }
    }
  }
  return Linear(context, "linear_out");
}

namespace {

// The same module in both precisions: its weights are float32 values.
class BothPrecisions {
 public:
  BothPrecisions(const std::string& position, const MakeFormula& make_formula)
      : float32_(position, make_formula, at::kFloat),
        float64_(position, make_formula, at::kDouble) {}

  // A segment of `rows` queries from frame `offset`, after `cached` frames.
  void Expect(int64_t rows, int64_t cached, int64_t offset, const std::optional<ChunkMask>& mask) {
    const at::Tensor x = RandomRows(rows, 1);
    const at::Tensor keys = RandomRows(cached, 2);
    const at::Tensor values = RandomRows(cached, 3);
    const auto visible = [&](int64_t i, int64_t j) {
      if (!mask) return true;
      const int64_t start = i / mask->chunk_size * mask->chunk_size;
      return j < start + mask->chunk_size &&
             (mask->left_context < 0 || j >= start - mask->left_context);
    };
    const at::Tensor expected = float64_.Attend(x, keys, values, offset, visible);
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
      const AttentionReference& module = dtype == at::kFloat ? float32_ : float64_;
      LayerState state = module.State(keys, values);
      Segment segment = OneChunk(0, rows, offset, &state, -1);
      if (mask) {
        segment.chunk_size = mask->chunk_size;
        segment.left_context = mask->left_context;
      }
      const at::Tensor y = module.attention().Forward(x.to(dtype), {segment});
      EXPECT_EQ(y.scalar_type(), dtype);
      EXPECT_LE(RelativeError(y, expected), FormulaTolerance(dtype));
    }
  }

 private:
  AttentionReference float32_;
  AttentionReference float64_;
};

}  // namespace

void ExpectAttentionIs(const std::string& position, const MakeFormula& make_formula,
                       Chunks chunks) {
  const c10::InferenceMode guard;  // as in the LibTorch backend
  SCOPED_TRACE(position);
  constexpr int64_t kFarAway = 10000007;
  BothPrecisions modules(position, make_formula);
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
