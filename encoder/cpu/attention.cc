#include "encoder/cpu/attention.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <memory>
#include <variant>

#include "encoder/cpu/cached_rows.h"
#include "encoder/cpu/packing.h"
#include "encoder/position/tensor_attention.h"

namespace runnel::cpu {
namespace {

// (3 d, d): queries, keys, values.
LinearWeights Concatenated(const AttentionWeights& weights) {
  std::vector<at::Tensor> matrices, biases;
  for (const LinearWeights* part : {&weights.query, &weights.key, &weights.value}) {
    matrices.push_back(part->weight);
    // Not of the weight's device: a packed weight has no values.
    biases.push_back(part->bias.defined() ? part->bias
                                          : at::zeros({part->weight.size(0)}, at::kFloat));
  }
  return {at::cat(matrices), at::cat(biases)};
}

const float* DataOrNull(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

// The other schemes are computed on tensors.
bool KernelComputes(const PositionScheme& scheme) {
  return std::holds_alternative<std::monostate>(scheme.rows) ||
         std::holds_alternative<RowsByDistance>(scheme.rows) ||
         std::holds_alternative<RowsByKeyFrame>(scheme.rows);
}

// (count, d): row_at(i) for each i.
template <class RowAt>
at::Tensor Gather(const RowAt& row_at, int64_t count, int64_t dim) {
  at::Tensor rows = at::empty({count, dim}, at::kFloat);
  for (int64_t i = 0; i < count; ++i) {
    std::copy(row_at(i), row_at(i) + dim, rows.data_ptr<float>() + i * dim);
  }
  return rows;
}

}  // namespace

Attention::Attention(const AttentionWeights& weights, const LayerNormWeights* norm,
                     const EncoderConfig& config, const PositionScheme& position,
                     const Options& options)
    : options_(options),
      model_dim_(config.model_dim),
      norm_(LayerNorm::If(norm)),
      qkv_(Pack(Concatenated(weights), options, kernels::MatmulOutput::kStore)),
      out_(Pack(weights.out, options, kernels::MatmulOutput::kAdd)),
      position_(position),
      content_bias_(Float32Values(position.content_bias)),
      position_bias_(Float32Values(position.position_bias)) {
  heads_.num_heads = config.num_heads;
  heads_.head_dim = config.head_dim();
  heads_.query_scale = static_cast<float>(position.query_scale);
  heads_.score_scale = static_cast<float>(position.score_scale);
}

void Attention::Initialize(LayerState* state) const {
  if (!options_.bfloat16_cache) return;
  state->keys = RowRing(model_dim_, DataType::kBfloat16);
  state->values = RowRing(model_dim_, DataType::kBfloat16);
}

void Attention::AddTo(const std::vector<Segment>& segments, Rows x) const {
  kernels::Scratch scratch;
  const int64_t width = 3 * model_dim_;
  auto* qkv = scratch.Take<float>(x.count * width);
  qkv_.Forward(NormalizedInput(x, norm_, options_.matmul_type, &scratch), x.count, qkv);
  if (options_.bfloat16_cache) {
    kernels::Scratch pieces;
    auto* rounded = pieces.Take<uint16_t>(2 * model_dim_);
    for (int64_t i = 0; i < x.count; ++i) {
      float* keys_values = qkv + i * width + model_dim_;
      kernels::RoundToBfloat16(keys_values, 2 * model_dim_, rounded);
      kernels::WidenBfloat16(rounded, 2 * model_dim_, keys_values);
    }
  }
  auto* context = scratch.Take<float>(x.count * model_dim_);
  for (const Segment& segment : segments) {
    kernels::Scratch pieces;
    const float* rows = qkv + segment.first_row * width;
    float* out = context + segment.first_row * model_dim_;
    const int64_t num_rows = segment.num_rows();
    const Keys keys = CollectKeys(segment, rows, &pieces);
    for (int64_t first = 0; first < num_rows; first += segment.chunk_size) {
      Chunk chunk{first, std::min(segment.chunk_size, num_rows - first), 0, 0};
      chunk.end_key = keys.num_cached + first + chunk.count;
      if (segment.left_context >= 0) {
        chunk.first_key = std::max<int64_t>(0, keys.num_cached + first - segment.left_context);
      }
      const auto attend =
          KernelComputes(position_) ? &Attention::Attend : &Attention::AttendOnTensors;
      (this->*attend)(keys, chunk, rows, out + first * model_dim_);
    }
    // The last keys of a limited context are kept after the end too, for tools that inspect a
    // state. Unlimited ones would be copied for nothing.
    if (!(segment.ends() && segment.left_context < 0)) Store(segment, rows);
  }
  const kernels::MatmulInput input =
      kernels::MatmulInput::Take(&scratch, options_.matmul_type, x.count, model_dim_);
  kernels::StoreRows(context, x.count, input);
  out_.Forward(input, x.count, x.float32());
}

Attention::Keys Attention::CollectKeys(const Segment& segment, const float* qkv,
                                       kernels::Scratch* scratch) const {
  LayerState& state = *segment.state;
  const int64_t num_rows = segment.num_rows();
  const int64_t cached = state.keys.size();
  Keys keys{cached + num_rows, cached, nullptr, nullptr, nullptr};
  keys.keys = scratch->Take<const float*>(keys.count);
  keys.values = scratch->Take<const float*>(keys.count);
  CollectRows(state.keys, scratch, keys.keys);
  CollectRows(state.values, scratch, keys.values);
  for (int64_t i = 0; i < num_rows; ++i) {
    keys.keys[cached + i] = qkv + (3 * i + 1) * model_dim_;
    keys.values[cached + i] = qkv + (3 * i + 2) * model_dim_;
  }
  if (const auto* positions = std::get_if<RowsByKeyFrame>(&position_.rows)) {
    positions->Extend(segment.frames.begin - cached, segment.frames.end, &state.key_positions);
    keys.positions = scratch->Take<const float*>(keys.count);
    for (int64_t i = 0; i < keys.count; ++i) {
      keys.positions[i] = static_cast<const float*>(state.key_positions.Row(i));
    }
  }
  return keys;
}

void Attention::Attend(const Keys& keys, const Chunk& chunk, const float* qkv,
                       float* context) const {
  kernels::AttentionHeads heads = heads_;
  heads.content_bias = DataOrNull(content_bias_);
  heads.position_bias = DataOrNull(position_bias_);
  kernels::AttentionRows rows;
  rows.queries = qkv + chunk.first * 3 * model_dim_;
  rows.query_stride = 3 * model_dim_;
  rows.num_queries = chunk.count;
  rows.keys = keys.keys + chunk.first_key;
  rows.values = keys.values + chunk.first_key;
  rows.num_keys = chunk.end_key - chunk.first_key;
  rows.first_query = keys.num_cached + chunk.first - chunk.first_key;
  rows.context = context;
  std::shared_ptr<const PositionTable::Range> range;
  if (const auto* table = std::get_if<RowsByDistance>(&position_.rows)) {
    range = (*table)->Covering(DistancesBetween(rows.first_query, chunk.count, rows.num_keys));
    rows.by_distance = {range->rows.data_ptr<float>(), range->distances.size(),
                        range->distances.first};
  } else if (keys.positions != nullptr) {
    rows.key_positions = keys.positions + chunk.first_key;
  }
  kernels::Attend(rows, heads);
}

void Attention::AttendOnTensors(const Keys& keys, const Chunk& chunk, const float* qkv,
                                float* context) const {
  const c10::InferenceMode guard;
  const int64_t num_keys = chunk.end_key - chunk.first_key;
  const auto gather = [&](const float* const* rows) {
    return Gather([&](int64_t i) { return rows[chunk.first_key + i]; }, num_keys, model_dim_);
  };
  const at::Tensor queries = Gather(
      [&](int64_t i) { return qkv + (chunk.first + i) * 3 * model_dim_; }, chunk.count, model_dim_);
  const at::Tensor rows =
      runnel::AttendOnTensors(position_, {queries, gather(keys.keys), gather(keys.values), {}},
                              heads_.num_heads, std::nullopt)
          .contiguous();
  const auto* from = rows.data_ptr<float>();
  std::copy(from, from + rows.numel(), context);
}

void Attention::Store(const Segment& segment, const float* qkv) const {
  LayerState& state = *segment.state;
  const int64_t stride = 3 * model_dim_;
  const int64_t num_rows = segment.num_rows();
  const int64_t before = state.keys.size();
  AppendRows(qkv + model_dim_, stride, num_rows, segment.left_context, &state.keys);
  AppendRows(qkv + 2 * model_dim_, stride, num_rows, segment.left_context, &state.values);
  state.key_positions.DropFirst(before + num_rows - state.keys.size());
}

}  // namespace runnel::cpu
