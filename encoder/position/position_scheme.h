// The seam inside attention: how positions enter its scores and its values.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools. A scheme is one file here, which
// parses its fields and builds its modules, and one line in the list of position_scheme.cc.
#ifndef RUNNEL_ENCODER_POSITION_POSITION_SCHEME_H_
#define RUNNEL_ENCODER_POSITION_POSITION_SCHEME_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encoder/frame_buffer.h"
#include "encoder/position/position_config.h"

namespace runnel {

// One stream's chunk of C queries and the L keys they may see, of all heads. The keys end with the
// chunk: they are those of the encoder frames offset - num_cached() to offset + C - 1.
struct AttentionChunk {
  at::Tensor queries;        // (H, C, d_k), neither scaled nor biased
  at::Tensor keys;           // (H, L, d_k)
  int64_t offset;            // encoder frame of the first query, from the stream's start
  at::Tensor key_positions;  // (H, L, d_k) from AppendKeyPositions, undefined if that keeps nothing
  at::Tensor table;          // from Table, undefined if that gives none

  int64_t num_queries() const { return queries.size(1); }
  int64_t num_keys() const { return keys.size(1); }
  int64_t num_cached() const { return num_keys() - num_queries(); }
};

// Queries of a chunk that are handled at a time: rows first .. first + count - 1.
struct QueryBlock {
  int64_t first;
  int64_t count;
};

// The scores of a scheme as sums of products of queries with rows, for kernels that compute them
// without forming tensors: ((s q_i + u) . k_j + (s q_i + v) . p_ij) t.
struct ScoreTerms {
  at::Tensor content_bias;   // u (H, d_k), undefined: none
  at::Tensor position_bias;  // v likewise
  double query_scale = 1.0;  // s
  double score_scale = 1.0;  // t
  // Where p_ij depends on the distance of query and key: (first - last + 1, d) for the distances
  // first, first - 1, ..., last, all within -max_distance .. max_distance; beyond them it is that
  // of the nearest. Empty: p_ij is what AppendKeyPositions kept for key j, and 0 if that is
  // nothing.
  std::function<at::Tensor(int64_t first, int64_t last)> distance_rows;
  int64_t max_distance = 0;
};

// One layer's scheme. What is not overridden is attention without positions. Const: called from
// several threads at once.
class PositionScheme {
 public:
  virtual ~PositionScheme() = default;

  // What the blocks of a chunk have in common, computed once for all of them: becomes chunk.table.
  virtual at::Tensor Table(const AttentionChunk& chunk) const;

  // (H, block.count, L), scaled, before mask and softmax. A row depends on the chunk and its place
  // in it, not on the block.
  virtual at::Tensor Scores(const AttentionChunk& chunk, const QueryBlock& block) const;

  // What the queries read. weights: (H, block.count, L), values: (H, L, d_k); returns
  // (H, block.count, d_k).
  virtual at::Tensor Context(const at::Tensor& weights, const at::Tensor& values,
                             const AttentionChunk& chunk, const QueryBlock& block) const;

  // The terms of Scores, where it is such a sum and Context is not overridden; nothing otherwise.
  virtual std::optional<ScoreTerms> score_terms() const;

  // Called before a chunk that ends before frame `end`: appends what the scheme keeps beside the
  // keys, one row of d per frame, from `first` (the frame after the buffer's last) to at least
  // `end` - 1. A stream drops these rows together with its keys.
  virtual void AppendKeyPositions(int64_t first, int64_t end, FrameBuffer* buffer) const;
};

// What a model's scheme consists of.
struct PositionModules {
  std::vector<std::shared_ptr<const PositionScheme>> layers;

  // (num_frames, d), float64: what is added to the subsampled (and scaled) frames first_frame,
  // first_frame + 1, ... before layer 0. Empty: nothing.
  std::function<at::Tensor(int64_t first_frame, int64_t num_frames)> input;
};

// A builder for schemes whose layers have nothing in common. `layer` takes the tensors of one.
PositionConfig::Builder ForEachLayer(
    std::function<std::shared_ptr<const PositionScheme>(
        Weights* weights, const std::string& attention_name, const AttentionSizes& sizes)>
        layer);

// Attention without positions of its own.
class ContentOnly final : public PositionScheme {
 public:
  explicit ContentOnly(const AttentionSizes& sizes) : sizes_(sizes) {}
  std::optional<ScoreTerms> score_terms() const override;

 private:
  AttentionSizes sizes_;
};

// (rows, d) -> (H, rows, d_k), sharing memory.
at::Tensor SplitHeads(const at::Tensor& rows, int64_t num_heads);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_POSITION_SCHEME_H_
