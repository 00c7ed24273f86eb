#include "encoder/libtorch/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>

#include <optional>
#include <variant>

#include "encoder/libtorch/dense.h"
#include "encoder/libtorch/tensor_attention.h"
#include "encoder/libtorch/tensor_rows.h"

namespace runnel::libtorch {

at::Tensor Attention::Forward(const at::Tensor& x, const std::vector<Segment>& segments) const {
  const at::Tensor q = Linear(weights_.query, x);
  const at::Tensor k = Linear(weights_.key, x);
  const at::Tensor v = Linear(weights_.value, x);
  at::Tensor context = at::empty_like(q);
  for (const Segment& segment : segments) {
    const auto rows_of = [&](const at::Tensor& all) {
      return all.narrow(0, segment.first_row, segment.num_rows());
    };
    rows_of(context).copy_(Attend(Rotated(rows_of(q), segment.frames),
                                  Rotated(rows_of(k), segment.frames), rows_of(v), segment));
  }
  return Linear(weights_.out, context);
}

at::Tensor Attention::Rotated(const at::Tensor& rows, FrameRange frames) const {
  if (!position_.rotation) return rows;
  const Matrix angles = position_.rotation->Rows(frames.begin, frames.end - 1);
  // (rows, 1, d_k / 2) each
  const at::Tensor pairs =
      View(angles.rows()).view({rows.size(0), 1, -1, 2}).to(rows.scalar_type());
  const at::Tensor sine = pairs.select(3, 0), cosine = pairs.select(3, 1);
  const std::vector<at::Tensor> halves =
      rows.view({rows.size(0), num_heads_, -1}).chunk(2, /*dim=*/2);
  return at::cat({halves[0] * cosine - halves[1] * sine, halves[0] * sine + halves[1] * cosine}, 2)
      .flatten(1);
}

at::Tensor Attention::Attend(const at::Tensor& queries, const at::Tensor& keys,
                             const at::Tensor& values, const Segment& segment) const {
  LayerState& state = *segment.state;
  // The left context may have become shorter since the last chunk.
  if (segment.left_context >= 0) state.DropKeys(state.keys.size() - segment.left_context);
  const int64_t cached = state.keys.size();
  AttentionChunk chunk{
      queries, at::cat({Copy(state.keys), keys}), at::cat({Copy(state.values), values}), {}};
  std::optional<Matrix> key_positions;
  if (const auto* positions = std::get_if<RowsByKeyFrame>(&position_.rows)) {
    const int64_t first = segment.frames.begin - cached;
    key_positions.emplace(positions->linear_pos.data_type(), segment.frames.end - first,
                          queries.size(1));
    ProjectPositions({positions->linear_pos}, first, segment.frames.end - 1, 0,
                     {key_positions->rows()});
    chunk.key_positions = View(key_positions->rows()).t();
  }
  std::optional<ChunkMask> mask;
  if (segment.chunk_size < segment.num_rows()) {
    mask = ChunkMask{segment.chunk_size, segment.left_context};
  }
  Append(keys, segment.left_context, &state.keys);
  Append(values, segment.left_context, &state.values);
  return AttendOnTensors(position_, chunk, num_heads_, mask);
}

}  // namespace runnel::libtorch
