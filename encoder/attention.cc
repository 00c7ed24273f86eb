#include "encoder/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace runnel {
namespace {

// Queries of a chunk handled at a time: bounds the score matrices of a whole utterance, which is
// one chunk of any length.
constexpr int64_t kMaxQueryRows = 128;

// (queries, keys) bool, true where the query does not see the key. Keys start at frame 0.
at::Tensor HiddenKeys(const ChunkMask& mask, int64_t first_query, int64_t num_queries,
                      int64_t num_keys, at::Device device) {
  const at::TensorOptions options = at::TensorOptions(at::kLong).device(device);
  const at::Tensor queries = at::arange(first_query, first_query + num_queries, options);
  const at::Tensor keys = at::arange(num_keys, options).unsqueeze(0);
  const at::Tensor chunk_start =
      (queries.floor_divide(mask.chunk_size) * mask.chunk_size).unsqueeze(1);
  at::Tensor hidden = keys >= chunk_start + mask.chunk_size;
  if (mask.left_context >= 0) hidden = hidden.logical_or(keys < chunk_start - mask.left_context);
  return hidden;
}

Linear Projection(Weights* weights, const std::string& name, int64_t dim, bool bias) {
  return Linear(weights, name, dim, dim, bias ? Linear::Bias::kYes : Linear::Bias::kNo);
}

}  // namespace

Attention::Attention(Weights* weights, const std::string& name, const EncoderConfig& config,
                     std::shared_ptr<const PositionScheme> position)
    : model_dim_(config.model_dim),
      num_heads_(config.num_heads),
      linear_q_(Projection(weights, name + ".linear_q", model_dim_, config.attention_bias.query)),
      linear_k_(Projection(weights, name + ".linear_k", model_dim_, config.attention_bias.key)),
      linear_v_(Projection(weights, name + ".linear_v", model_dim_, config.attention_bias.value)),
      linear_out_(Projection(weights, name + ".linear_out", model_dim_, config.attention_bias.out)),
      position_(std::move(position)) {}

FrameBuffer Attention::InitialCache() const { return FrameBuffer(model_dim_, linear_q_.options()); }

at::Tensor Attention::Forward(const at::Tensor& x, const LayerBatch& batch) const {
  const at::Tensor q = linear_q_.Forward(x);
  const at::Tensor k = linear_k_.Forward(x);
  const at::Tensor v = linear_v_.Forward(x);
  at::Tensor context = at::empty_like(q);
  for (const LayerSegment& segment : batch) {
    const auto rows_of = [&](const at::Tensor& all) {
      return all.narrow(0, segment.first_row, segment.num_rows);
    };
    LayerState& state = *segment.state;
    Remember(rows_of(k), rows_of(v), segment);
    rows_of(context).copy_(Attend(rows_of(q), segment));
    if (segment.left_context >= 0) {
      const int64_t dropped = std::max<int64_t>(0, state.keys.size() - segment.left_context);
      state.keys.KeepLast(segment.left_context);
      state.values.KeepLast(segment.left_context);
      state.key_positions.KeepLast(std::max<int64_t>(0, state.key_positions.size() - dropped));
    }
  }
  return linear_out_.Forward(context);
}

void Attention::Remember(const at::Tensor& keys, const at::Tensor& values,
                         const LayerSegment& segment) const {
  LayerState& state = *segment.state;
  const int64_t first_key = segment.offset - state.keys.size();
  position_->AppendKeyPositions(first_key + state.key_positions.size(),
                                segment.offset + segment.num_rows, &state.key_positions);
  state.keys.Append(keys);
  state.values.Append(values);
}

at::Tensor Attention::Attend(const at::Tensor& q, const LayerSegment& segment) const {
  const LayerState& state = *segment.state;
  const int64_t num_queries = q.size(0);
  const int64_t num_keys = state.keys.size();
  const at::Tensor values = SplitHeads(state.values.Rows(), num_heads_);
  AttentionChunk chunk{
      SplitHeads(q, num_heads_), SplitHeads(state.keys.Rows(), num_heads_), segment.offset, {}, {}};
  if (state.key_positions.size() > 0) {
    chunk.key_positions = SplitHeads(state.key_positions.Rows().narrow(0, 0, num_keys), num_heads_);
  }
  chunk.table = position_->Table(chunk);
  std::vector<at::Tensor> contexts;
  for (int64_t first = 0; first < num_queries; first += kMaxQueryRows) {
    const QueryBlock block{first, std::min(kMaxQueryRows, num_queries - first)};
    at::Tensor scores = position_->Scores(chunk, block);  // (H, rows, L)
    if (segment.mask) {
      scores.masked_fill_(HiddenKeys(*segment.mask, chunk.num_cached() + first, block.count,
                                     num_keys, scores.device()),
                          -std::numeric_limits<double>::infinity());
    }
    const at::Tensor context = position_->Context(at::softmax(scores, -1), values, chunk, block);
    contexts.push_back(context.transpose(0, 1).flatten(1));
  }
  return contexts.size() == 1 ? contexts[0] : at::cat(contexts, 0);
}

}  // namespace runnel
