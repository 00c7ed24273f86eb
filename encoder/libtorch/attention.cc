#include "encoder/libtorch/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/empty_like.h>

#include <optional>
#include <variant>
#include <vector>

#include "encoder/libtorch/dense.h"
#include "encoder/libtorch/tensor_attention.h"
#include "encoder/libtorch/tensor_rows.h"
#include "encoder/strides.h"

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
    const at::Tensor attended =
        Attend(Grouped(Rotated(rows_of(q), segment.frames)),
               Grouped(Rotated(rows_of(k), segment.frames)), Grouped(rows_of(v)), segment);
    rows_of(context).copy_(attended.reshape({-1, q.size(1)}).narrow(0, 0, segment.num_rows()));
  }
  return Linear(weights_.out, context);
}

void Attention::Initialize(LayerState* state) const {
  state->keys = RowRing(position_.group_size * state->keys.dim(), state->keys.type());
  state->values = state->keys;
}

at::Tensor Attention::Grouped(const at::Tensor& rows) const {
  const int64_t size = position_.group_size;
  const int64_t num_groups = NumStrided(rows.size(0), size);
  return at::constant_pad_nd(rows, {0, 0, 0, num_groups * size - rows.size(0)})
      .reshape({num_groups, size * rows.size(1)});
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
                             const at::Tensor& values, const Segment& frames) const {
  const Segment segment = Strided({frames}, position_.group_size)[0];
  LayerState& state = *segment.state;
  // The left context may have become shorter since the last chunk.
  if (segment.left_context >= 0) state.DropKeys(state.keys.size() - segment.left_context);
  const int64_t cached = state.keys.size();
  AttentionChunk chunk{
      queries, at::cat({Copy(state.keys), keys}), at::cat({Copy(state.values), values}), {}};
  if (const auto* positions = std::get_if<RowsByKeyFrame>(&position_.rows)) {
    const int64_t step = frames.frame_step;
    const int64_t first = (frames.frames.begin - cached * position_.group_size) * step;
    const int64_t last = (frames.frames.end - 1) * step;
    Matrix columns(positions->linear_pos.data_type(), last - first + 1,
                   positions->linear_pos.dim());
    ProjectPositions({positions->linear_pos}, first, last, 0, {columns.rows()});
    chunk.key_positions =
        Grouped(View(columns.rows()).t().slice(0, c10::nullopt, c10::nullopt, step));
  }
  std::optional<ChunkMask> mask;
  if (segment.chunk_size < segment.num_rows()) {
    mask = ChunkMask{segment.chunk_size, segment.left_context};
  }
  const int64_t num_kept = segment.num_kept();
  Append(keys.narrow(0, 0, num_kept), segment.left_context, &state.keys);
  Append(values.narrow(0, 0, num_kept), segment.left_context, &state.values);
  return AttendOnTensors(position_, chunk, num_heads_, mask);
}

}  // namespace runnel::libtorch
