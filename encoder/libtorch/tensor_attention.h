// Attention of one stream's chunk on tensors, with any position scheme.
#ifndef RUNNEL_ENCODER_LIBTORCH_TENSOR_ATTENTION_H_
#define RUNNEL_ENCODER_LIBTORCH_TENSOR_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "encoder/chunk_mask.h"
#include "encoder/position/position_scheme.h"

namespace runnel::libtorch {

// Rows of d values, all heads side by side. The frames of the C queries are the last C of the L
// keys.
struct AttentionChunk {
  at::Tensor queries;        // (C, d)
  at::Tensor keys;           // (L, d)
  at::Tensor values;         // (L, d)
  at::Tensor key_positions;  // (L, d) for RowsByKeyFrame, else unused
};

// (C, d): softmax(scores) values per head (Vaswani et al. 2017, section 3.2). With a mask, key 0 is
// frame 0 of the stream. May be called from several threads.
at::Tensor AttendOnTensors(const PositionScheme& scheme, const AttentionChunk& chunk,
                           int64_t num_heads, const std::optional<ChunkMask>& mask);

}  // namespace runnel::libtorch

#endif  // RUNNEL_ENCODER_LIBTORCH_TENSOR_ATTENTION_H_
