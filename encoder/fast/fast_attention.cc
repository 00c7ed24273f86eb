#include "encoder/fast/fast_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

namespace runnel {
namespace {

// Queries that a scheme scores at a time.
constexpr int64_t kMaxQueryRows = 128;

// One product for queries, keys and values: (3 d, d).
kernels::PackedLinear TakeQueriesKeysValues(Weights* weights, const std::string& name, int64_t dim,
                                            const AttentionBias& biases,
                                            const FastOptions& options) {
  std::vector<at::Tensor> matrices, offsets;
  const auto take = [&](const char* field, bool bias) {
    matrices.push_back(weights->Take(name + field + ".weight", {dim, dim}));
    offsets.push_back(bias ? weights->Take(name + field + ".bias", {dim})
                           : at::zeros({dim}, weights->dtype()));
  };
  take(".linear_q", biases.query);
  take(".linear_k", biases.key);
  take(".linear_v", biases.value);
  return Pack(at::cat(matrices), at::cat(offsets), options, kernels::ProductResult::kStore);
}

const float* DataOrNull(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

// (count, d) of rows at the pointers.
at::Tensor Gather(const float* const* pointers, int64_t count, int64_t dim) {
  at::Tensor rows = at::empty({count, dim}, at::kFloat);
  for (int64_t i = 0; i < count; ++i) {
    std::copy(pointers[i], pointers[i] + dim, rows.data_ptr<float>() + i * dim);
  }
  return rows;
}

}  // namespace

FastAttention::FastAttention(Weights* weights, const std::string& name, const EncoderConfig& config,
                             std::shared_ptr<const PositionScheme> position,
                             const FastOptions& options)
    : options_(options),
      model_dim_(config.model_dim),
      num_heads_(config.num_heads),
      linear_qkv_(TakeQueriesKeysValues(weights, name, model_dim_, config.attention_bias, options)),
      linear_out_(Pack(weights->Take(name + ".linear_out.weight", {model_dim_, model_dim_}),
                       config.attention_bias.out
                           ? weights->Take(name + ".linear_out.bias", {model_dim_})
                           : at::Tensor(),
                       options, kernels::ProductResult::kAdd)),
      position_(std::move(position)) {
  heads_.num_heads = num_heads_;
  heads_.head_dim = config.head_dim();
  if (const std::optional<ScoreTerms> terms = position_->score_terms()) {
    by_terms_ = true;
    content_bias_ = ValuesOf(terms->content_bias);
    position_bias_ = ValuesOf(terms->position_bias);
    heads_.query_scale = static_cast<float>(terms->query_scale);
    heads_.score_scale = static_cast<float>(terms->score_scale);
    if (terms->distance_rows) distance_rows_.emplace(terms->distance_rows, terms->max_distance);
  }
}

RowRing FastAttention::InitialCache() const {
  return {model_dim_,
          options_.bfloat16_cache ? RowRing::Storage::kBfloat16 : RowRing::Storage::kFloat32};
}

FrameBuffer FastAttention::InitialKeyPositions() const {
  return FrameBuffer(model_dim_, at::kFloat);
}

void FastAttention::AddTo(const FastRows& x, const FastLayerNorm* norm,
                          const FastBatch& batch) const {
  kernels::Scratch scratch;
  const int64_t width = 3 * model_dim_;
  auto* qkv = scratch.Take<float>(x.count * width);
  linear_qkv_.Forward(NormedInput(x, 0, x.count, norm, options_.precision, &scratch), x.count, qkv);
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
  for (const FastSegment& segment : batch) {
    kernels::Scratch pieces;
    const float* rows = qkv + segment.first_row * width;
    const Keys keys = CollectKeys(segment, rows, &pieces);
    float* out = context + segment.first_row * model_dim_;
    const int64_t cached = keys.count - segment.num_rows;
    // Under a mask every chunk sees keys of its own; otherwise the segment is one chunk.
    const int64_t chunk_size = segment.mask ? segment.mask->chunk_size : segment.num_rows;
    for (int64_t first = 0; first < segment.num_rows; first += chunk_size) {
      const int64_t count = std::min(chunk_size, segment.num_rows - first);
      const int64_t left = segment.mask ? segment.mask->left_context : -1;
      const int64_t begin = left < 0 ? 0 : std::max<int64_t>(0, cached + first - left);
      const auto attend = by_terms_ ? &FastAttention::AttendTo : &FastAttention::AttendByScheme;
      (this->*attend)(segment, keys, begin, cached + first + count, first, count, rows,
                      out + first * model_dim_);
    }
    // With limited context the last keys are kept, for whoever looks at a stream after its end.
    if (!(segment.ends && segment.left_context < 0)) Remember(segment, rows);
  }
  const kernels::ProductInput input =
      kernels::ProductInput::Take(&scratch, options_.precision, x.count, model_dim_);
  kernels::StoreRows(context, x.count, input);
  linear_out_.Forward(input, x.count, x.values);
}

FastAttention::Keys FastAttention::CollectKeys(const FastSegment& segment, const float* qkv,
                                               kernels::Scratch* scratch) const {
  FastLayerState& state = *segment.state;
  const int64_t cached = state.keys.size();
  Keys keys{cached + segment.num_rows, nullptr, nullptr, nullptr};
  keys.keys = scratch->Take<const float*>(keys.count);
  keys.values = scratch->Take<const float*>(keys.count);
  state.keys.Collect(scratch, keys.keys);
  state.values.Collect(scratch, keys.values);
  for (int64_t i = 0; i < segment.num_rows; ++i) {
    keys.keys[cached + i] = qkv + (3 * i + 1) * model_dim_;
    keys.values[cached + i] = qkv + (3 * i + 2) * model_dim_;
  }
  position_->AppendKeyPositions(segment.offset - cached + state.key_positions.size(),
                                segment.offset + segment.num_rows, &state.key_positions);
  if (state.key_positions.size() > 0) {
    keys.positions = scratch->Take<const float*>(keys.count);
    const auto* first = state.key_positions.Rows().data_ptr<float>();
    for (int64_t i = 0; i < keys.count; ++i) keys.positions[i] = first + i * model_dim_;
  }
  return keys;
}

void FastAttention::AttendTo(const FastSegment& segment, const Keys& keys, int64_t begin,
                             int64_t end, int64_t first, int64_t count, const float* qkv,
                             float* context) const {
  kernels::AttentionHeads heads = heads_;
  heads.content_bias = DataOrNull(content_bias_);
  heads.position_bias = DataOrNull(position_bias_);
  kernels::AttentionRows rows;
  rows.queries = qkv + first * 3 * model_dim_;
  rows.query_stride = 3 * model_dim_;
  rows.num_queries = count;
  rows.keys = keys.keys + begin;
  rows.values = keys.values + begin;
  rows.num_keys = end - begin;
  rows.first_query = keys.count - segment.num_rows + first - begin;
  rows.context = context;
  at::Tensor kept;
  if (distance_rows_) {
    rows.by_distance = distance_rows_->Covering(rows.first_query + count - 1,
                                                rows.first_query - (rows.num_keys - 1), &kept);
  } else if (keys.positions != nullptr) {
    rows.key_positions = keys.positions + begin;
  }
  kernels::Attend(rows, heads);
}

void FastAttention::AttendByScheme(const FastSegment& segment, const Keys& keys, int64_t begin,
                                   int64_t end, int64_t first, int64_t count, const float* qkv,
                                   float* context) const {
  std::vector<const float*> query_rows;
  for (int64_t i = 0; i < count; ++i) query_rows.push_back(qkv + (first + i) * 3 * model_dim_);
  const at::Tensor values =
      SplitHeads(Gather(keys.values + begin, end - begin, model_dim_), num_heads_);
  AttentionChunk chunk{SplitHeads(Gather(query_rows.data(), count, model_dim_), num_heads_),
                       SplitHeads(Gather(keys.keys + begin, end - begin, model_dim_), num_heads_),
                       segment.offset + first,
                       {},
                       {}};
  if (keys.positions != nullptr) {
    chunk.key_positions =
        SplitHeads(Gather(keys.positions + begin, end - begin, model_dim_), num_heads_);
  }
  chunk.table = position_->Table(chunk);
  for (int64_t row = 0; row < count; row += kMaxQueryRows) {
    const QueryBlock block{row, std::min(kMaxQueryRows, count - row)};
    const at::Tensor weights = at::softmax(position_->Scores(chunk, block), -1);
    const at::Tensor rows =
        position_->Context(weights, values, chunk, block).transpose(0, 1).flatten(1).contiguous();
    const auto* from = rows.data_ptr<float>();
    std::copy(from, from + rows.numel(), context + row * model_dim_);
  }
}

void FastAttention::Remember(const FastSegment& segment, const float* qkv) const {
  FastLayerState& state = *segment.state;
  const int64_t stride = 3 * model_dim_;
  const int64_t all = state.keys.size() + segment.num_rows;
  state.keys.Append(qkv + model_dim_, stride, segment.num_rows, segment.left_context);
  state.values.Append(qkv + 2 * model_dim_, stride, segment.num_rows, segment.left_context);
  state.key_positions.KeepLast(
      std::max<int64_t>(0, state.key_positions.size() - (all - state.keys.size())));
}

}  // namespace runnel
