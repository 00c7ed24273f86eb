#include "encoder/cpu/depthwise.h"

#include <algorithm>

#include "encoder/cpu/cached_rows.h"
#include "encoder/cpu/kernels/scratch.h"

namespace runnel::cpu {

Depthwise::Depthwise(const DepthwiseWeights& weights, ConvolutionType type, Activation activation,
                     const LayerNormWeights* norm, int64_t stride)
    : dim_(weights.bias.size(0)),
      kernel_size_(weights.taps.size(0)),
      left_frames_(LeftFrames(type, kernel_size_)),
      right_frames_(kernel_size_ - 1 - left_frames_),
      stride_(stride),
      activation_(activation),
      taps_(Float32Values(weights.taps)),
      bias_(Float32Values(weights.bias)),
      norm_(LayerNorm::If(norm)) {}

kernels::DepthwiseWeights Depthwise::weights() const {
  return {taps_.data(), bias_.data(), kernel_size_,
          norm_ ? std::make_optional(norm_->weights()) : std::nullopt, activation_};
}

void Depthwise::FillCache(const float* frame, RowRing* cache) const {
  cache->Append(frame, 0, left_frames_, left_frames_);
}

void Depthwise::Forward(const Segment& segment, const float* frames, RowRing* cache,
                        int64_t first_output, const kernels::MatmulInput& y) const {
  const int64_t num_rows = segment.num_rows();
  const float* new_frames = frames + segment.first_row * dim_;
  kernels::Scratch pieces;
  auto** rows = pieces.Take<const float*>(left_frames_ + num_rows);
  CollectRows(*cache, &pieces, rows);
  for (int64_t i = 0; i < num_rows; ++i) rows[left_frames_ + i] = new_frames + i * dim_;
  // A kernel that reads ahead reads zeros after the end of a chunk.
  const int64_t chunk_size = right_frames_ > 0 ? segment.chunk_size : num_rows;
  for (int64_t first = 0; first < num_rows; first += chunk_size) {
    const int64_t count = std::min(chunk_size, num_rows - first);
    // The kernel computes outputs of consecutive frames: with a stride, one at a time.
    const int64_t run = stride_ == 1 ? count : 1;
    for (int64_t done = 0; done < count; done += run * stride_, first_output += run) {
      kernels::DepthwiseConvolution(rows + first + done, left_frames_ + count - done, run,
                                    weights(), y, first_output);
    }
  }
  AppendRows(new_frames, dim_, segment.num_kept(), left_frames_, cache);
}

}  // namespace runnel::cpu
