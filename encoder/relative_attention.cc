#include "encoder/relative_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace runnel {
namespace {

// Queries of a chunk handled at a time: bounds the score matrices of a whole utterance, which is
// one chunk of any length.
constexpr int64_t kMaxQueryRows = 128;

// (queries, keys) bool, true where the query does not see the key. Keys start at frame 0.
at::Tensor HiddenKeys(const ChunkMask& mask, int64_t first_query, int64_t num_queries,
                      int64_t num_keys) {
  const at::Tensor queries = at::arange(first_query, first_query + num_queries, at::kLong);
  const at::Tensor keys = at::arange(num_keys, at::kLong).unsqueeze(0);
  const at::Tensor chunk_start =
      (queries.floor_divide(mask.chunk_size) * mask.chunk_size).unsqueeze(1);
  at::Tensor hidden = keys >= chunk_start + mask.chunk_size;
  if (mask.left_context >= 0) hidden = hidden.logical_or(keys < chunk_start - mask.left_context);
  return hidden;
}

}  // namespace

at::Tensor RelShift(const at::Tensor& table, int64_t num_keys) {
  const int64_t rows = table.size(1);
  const int64_t columns = table.size(2);
  return table.as_strided({table.size(0), rows, num_keys}, {rows * columns, columns - 1, 1},
                          table.storage_offset() + rows - 1);
}

RelativeAttention::RelativeAttention(Weights* weights, const std::string& name,
                                     const EncoderConfig& config)
    : num_heads_(config.num_heads),
      head_dim_(config.head_dim()),
      linear_q_(weights, name + ".linear_q", config.model_dim, config.model_dim),
      linear_k_(weights, name + ".linear_k", config.model_dim, config.model_dim),
      linear_v_(weights, name + ".linear_v", config.model_dim, config.model_dim),
      linear_out_(weights, name + ".linear_out", config.model_dim, config.model_dim),
      positions_(weights->Take(name + ".linear_pos.weight", {config.model_dim, config.model_dim})),
      pos_bias_u_(weights->Take(name + ".pos_bias_u", {num_heads_, head_dim_}).flatten()),
      pos_bias_v_(weights->Take(name + ".pos_bias_v", {num_heads_, head_dim_}).flatten()) {}

FrameBuffer RelativeAttention::InitialCache() const {
  return FrameBuffer(pos_bias_u_.size(0), pos_bias_u_.scalar_type());
}

at::Tensor RelativeAttention::Heads(const at::Tensor& rows) const {
  return rows.view({rows.size(0), num_heads_, head_dim_}).transpose(0, 1);
}

at::Tensor RelativeAttention::Forward(const at::Tensor& x, const LayerBatch& batch) const {
  const at::Tensor q = linear_q_.Forward(x);
  const at::Tensor k = linear_k_.Forward(x);
  const at::Tensor v = linear_v_.Forward(x);
  at::Tensor context = at::empty_like(q);
  for (const LayerSegment& segment : batch) {
    LayerState& state = *segment.state;
    state.keys.Append(k.narrow(0, segment.first_row, segment.num_rows));
    state.values.Append(v.narrow(0, segment.first_row, segment.num_rows));
    context.narrow(0, segment.first_row, segment.num_rows)
        .copy_(Attend(q.narrow(0, segment.first_row, segment.num_rows), state.keys.Rows(),
                      state.values.Rows(), segment.mask));
    if (segment.left_context >= 0) {
      state.keys.KeepLast(segment.left_context);
      state.values.KeepLast(segment.left_context);
    }
  }
  return linear_out_.Forward(context);
}

at::Tensor RelativeAttention::Attend(const at::Tensor& q, const at::Tensor& keys,
                                     const at::Tensor& values,
                                     const std::optional<ChunkMask>& mask) const {
  const int64_t num_queries = q.size(0);
  const int64_t num_keys = keys.size(0);
  const at::Tensor keys_t = Heads(keys).transpose(1, 2);  // (H, d_k, L)
  const at::Tensor values_h = Heads(values);              // (H, L, d_k)
  const at::Tensor q_u = Heads(q + pos_bias_u_);          // (H, C, d_k)
  const at::Tensor q_v = Heads(q + pos_bias_v_);
  // Distances from the last query to the first key down to the first query to the last key.
  const at::Tensor positions = positions_.Rows(num_keys - 1, 1 - num_queries);
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim_));

  std::vector<at::Tensor> contexts;
  for (int64_t first = 0; first < num_queries; first += kMaxQueryRows) {
    const int64_t rows = std::min(kMaxQueryRows, num_queries - first);
    // These queries' first distance is smaller by the number of queries after them.
    const at::Tensor table =
        Heads(positions.narrow(0, num_queries - first - rows, num_keys + rows - 1));
    const at::Tensor bd =
        at::matmul(q_v.narrow(1, first, rows), table.transpose(1, 2)).contiguous();
    at::Tensor scores = at::matmul(q_u.narrow(1, first, rows), keys_t);  // (H, rows, L)
    scores.add_(RelShift(bd, num_keys)).mul_(scale);
    if (mask) {
      const int64_t first_query = num_keys - num_queries + first;
      scores.masked_fill_(HiddenKeys(*mask, first_query, rows, num_keys),
                          -std::numeric_limits<double>::infinity());
    }
    contexts.push_back(at::matmul(at::softmax(scores, -1), values_h).transpose(0, 1).flatten(1));
  }
  return contexts.size() == 1 ? contexts[0] : at::cat(contexts, 0);
}

}  // namespace runnel
