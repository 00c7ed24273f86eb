#include "encoder/libtorch/tensor_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <variant>
#include <vector>

#include "encoder/libtorch/rel_shift.h"
#include "encoder/libtorch/tensor_rows.h"

namespace runnel::libtorch {
namespace {

// Queries handled at a time. It bounds the score matrices of a whole utterance, which is one chunk
// of any length.
constexpr int64_t kMaxQueryRows = 128;

// (rows, d) -> (H, rows, d_k), sharing memory.
at::Tensor SplitHeads(const at::Tensor& rows, int64_t num_heads) {
  return rows.view({rows.size(0), num_heads, rows.size(1) / num_heads}).transpose(0, 1);
}

// (queries, keys) bool, true where the query does not see the key.
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

// The same for a window that moves with the query.
at::Tensor HiddenKeys(const AttentionWindow& window, int64_t first_query, int64_t num_queries,
                      int64_t num_keys, at::Device device) {
  const at::TensorOptions options = at::TensorOptions(at::kLong).device(device);
  const at::Tensor distances =
      at::arange(first_query, first_query + num_queries, options).unsqueeze(1) -
      at::arange(num_keys, options);
  at::Tensor hidden = at::zeros_like(distances, at::kBool);
  if (window.left >= 0) hidden = hidden.logical_or(distances > window.left);
  if (window.right >= 0) hidden = hidden.logical_or(distances < -window.right);
  return hidden;
}

// The rows of a layer, (n, d), sharing memory.
at::Tensor RowsOf(const PositionTable::Range& range, size_t layer) {
  return View(range.columns[layer].rows()).narrow(1, 0, range.distances.size()).t();
}

// s q + bias. q: (H, rows, d_k); bias: (H, d_k) or undefined.
at::Tensor Biased(const at::Tensor& q, double scale, const Tensor& bias) {
  const at::Tensor scaled = scale == 1.0 ? q : q * scale;
  return bias.defined() ? scaled + View(bias).unsqueeze(1) : scaled;
}

// One stream's chunk, evaluated block by block.
class ChunkAttention {
 public:
  ChunkAttention(const PositionScheme& scheme, const AttentionChunk& chunk, int64_t num_heads)
      : scheme_(scheme),
        queries_(SplitHeads(chunk.queries, num_heads)),
        keys_(SplitHeads(chunk.keys, num_heads)),
        values_(SplitHeads(chunk.values, num_heads)),
        num_cached_(keys_.size(1) - queries_.size(1)) {
    // The rows of p, (H, rows, d_k), once for all blocks.
    if (const auto* by_distance = std::get_if<RowsByDistance>(&scheme.rows)) {
      range_ = by_distance->table->Covering(
          DistancesBetween(num_cached_, queries_.size(1), keys_.size(1)));
      positions_ = SplitHeads(RowsOf(*range_, by_distance->layer), num_heads);
    } else if (std::holds_alternative<RowsByKeyFrame>(scheme.rows)) {
      positions_ = SplitHeads(chunk.key_positions, num_heads);
    } else if (const auto* legacy = std::get_if<LegacyRows>(&scheme.rows)) {
      TORCH_INTERNAL_ASSERT(num_cached_ == 0, "legacy_rel_pos in a chunk");
      const int64_t num_frames = keys_.size(1);
      range_ = legacy->Covering(num_frames);
      const int64_t first = range_->distances.first - legacy->FirstDistance(num_frames);
      positions_ =
          SplitHeads(RowsOf(*range_, legacy->layer).narrow(0, first, num_frames), num_heads);
    }
  }

  // (count, d): the context vectors of `count` queries from `first` on.
  at::Tensor Attend(int64_t first, int64_t count, const std::optional<ChunkMask>& mask) const {
    at::Tensor scores = Scores(first, count);  // (H, count, L)
    const auto hide = [&](const auto& which) {
      scores.masked_fill_(
          HiddenKeys(which, num_cached_ + first, count, keys_.size(1), scores.device()),
          -std::numeric_limits<double>::infinity());
    };
    if (mask) hide(*mask);
    if (scheme_.window) hide(*scheme_.window);
    const at::Tensor weights = at::softmax(scores, -1);
    at::Tensor context = at::matmul(weights, values_);
    if (const auto* learned = std::get_if<LearnedRows>(&scheme_.rows)) {
      if (learned->values.defined()) context.add_(ValueRows(*learned, weights, first));
    }
    return context.transpose(0, 1).flatten(1);
  }

 private:
  at::Tensor Scores(int64_t first, int64_t count) const {
    const at::Tensor for_keys =
        Biased(queries_.narrow(1, first, count), scheme_.query_scale, scheme_.content_bias);
    at::Tensor scores = at::matmul(for_keys, keys_.transpose(1, 2));
    if (!std::holds_alternative<std::monostate>(scheme_.rows)) {
      scores.add_(PositionScores(first, count));
    }
    return scheme_.score_scale == 1.0 ? scores : scores.mul_(scheme_.score_scale);
  }

  // (s q_i + v) . p_ij
  at::Tensor PositionScores(int64_t first, int64_t count) const {
    const auto queries = [&](int64_t rows) {
      return Biased(queries_.narrow(1, first, rows), scheme_.query_scale, scheme_.position_bias);
    };
    const Distances wanted = BlockDistances(first, count);
    if (std::holds_alternative<RowsByDistance>(scheme_.rows)) {
      return DistanceScores(queries(count), positions_, range_->distances, wanted);
    }
    if (const auto* learned = std::get_if<LearnedRows>(&scheme_.rows)) {
      return DistanceScores(queries(count), View(learned->keys), learned->distances, wanted);
    }
    if (std::holds_alternative<LegacyRows>(scheme_.rows)) {
      const int64_t rows = std::min(count + 1, queries_.size(1) - first);
      return LegacyShift(at::matmul(queries(rows), positions_.transpose(1, 2)), first, count);
    }
    return at::matmul(queries(count), positions_.transpose(1, 2));
  }

  // (H, count, d_k): sum over j of weight_ij values[distance(i, j)]. The weights are summed per
  // distance first, so that no (count, L, d_k) tensor is formed.
  at::Tensor ValueRows(const LearnedRows& learned, const at::Tensor& weights, int64_t first) const {
    const int64_t count = weights.size(1);
    const Distances used = BlockDistances(first, count).ClampedTo(learned.distances);
    const at::TensorOptions options = weights.options().dtype(at::kLong);
    const int64_t first_query = num_cached_ + first;
    const at::Tensor distances =
        at::arange(first_query, first_query + count, options).unsqueeze(1) -
        at::arange(keys_.size(1), options);
    const at::Tensor columns = used.first - distances.clamp(used.last, used.first);  // (count, L)
    const at::Tensor sums = at::zeros({weights.size(0), count, used.size()}, weights.options())
                                .scatter_add_(2, columns.expand(weights.sizes()), weights);
    return at::matmul(
        sums, View(learned.values).narrow(0, learned.distances.first - used.first, used.size()));
  }

  Distances BlockDistances(int64_t first, int64_t count) const {
    return DistancesBetween(num_cached_ + first, count, keys_.size(1));
  }

  const PositionScheme& scheme_;
  at::Tensor queries_;                                 // (H, C, d_k)
  at::Tensor keys_;                                    // (H, L, d_k)
  at::Tensor values_;                                  // (H, L, d_k)
  int64_t num_cached_;                                 // keys before the first query's
  std::shared_ptr<const PositionTable::Range> range_;  // for RowsByDistance and LegacyRows
  at::Tensor positions_;
};

}  // namespace

at::Tensor AttendOnTensors(const PositionScheme& scheme, const AttentionChunk& chunk,
                           int64_t num_heads, const std::optional<ChunkMask>& mask) {
  const ChunkAttention attention(scheme, chunk, num_heads);
  const int64_t num_queries = chunk.queries.size(0);
  std::vector<at::Tensor> contexts;
  for (int64_t first = 0; first < num_queries; first += kMaxQueryRows) {
    contexts.push_back(attention.Attend(first, std::min(kMaxQueryRows, num_queries - first), mask));
  }
  return contexts.size() == 1 ? contexts[0] : at::cat(contexts, 0);
}

}  // namespace runnel::libtorch
