// Multi-head self-attention with relative positions over each stream's cached and new frames.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_RELATIVE_ATTENTION_H_
#define RUNNEL_ENCODER_RELATIVE_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "encoder/dense.h"
#include "encoder/encoder_config.h"
#include "encoder/layer_state.h"
#include "encoder/position_table.h"
#include "encoder/weights.h"

namespace runnel {

// score(i, j) = ((q_i + u) k_j + (q_i + v) W_pos PE(distance(i, j))) / sqrt(d_k)
// (Dai et al. 2019, section 3.3), for a chunk of C queries whose L = M' + C keys start M' frames
// earlier. The second term is one product with the table of all L + C - 1 distances, of which row i
// is read from column C - 1 - i on ("ChunkRPE"): a stride, neither padding nor copy.
class RelativeAttention {
 public:
  // Takes <name>.linear_{q,k,v,out}, <name>.linear_pos.weight, <name>.pos_bias_{u,v} (H, d_k).
  RelativeAttention(Weights* weights, const std::string& name, const EncoderConfig& config);

  // (total_rows, d) -> (total_rows, d). Appends each segment's keys and values to its state, then
  // drops what lies outside its left context.
  at::Tensor Forward(const at::Tensor& x, const LayerBatch& batch) const;

  // The keys, or the values, of a stream that has heard nothing.
  FrameBuffer InitialCache() const;

 private:
  // One segment's context vectors. q: (C, d); keys, values: (L, d); returns (C, d).
  at::Tensor Attend(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& values,
                    const std::optional<ChunkMask>& mask) const;

  // (rows, d) -> (H, rows, d_k), sharing memory.
  at::Tensor Heads(const at::Tensor& rows) const;

  int64_t num_heads_;
  int64_t head_dim_;  // d_k
  Linear linear_q_;
  Linear linear_k_;
  Linear linear_v_;
  Linear linear_out_;
  PositionTable positions_;
  at::Tensor pos_bias_u_;  // (d): heads side by side, as in the rows of q
  at::Tensor pos_bias_v_;
};

// The (H, C, L) view of a (H, C, L + C - 1) table in which row i starts C - 1 - i columns later:
// the relative shift. `table` must be contiguous; the view shares its memory.
at::Tensor RelShift(const at::Tensor& table, int64_t num_keys);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_RELATIVE_ATTENTION_H_
