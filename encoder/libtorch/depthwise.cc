#include "encoder/libtorch/depthwise.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "encoder/libtorch/tensor_rows.h"

namespace runnel::libtorch {

Depthwise::Depthwise(const DepthwiseWeights& weights, ConvolutionType type, int64_t stride)
    : weights_(weights),
      left_frames_(LeftFrames(type, weights.taps.size(0))),
      right_frames_(weights.taps.size(0) - 1 - left_frames_),
      stride_(stride) {}

void Depthwise::FillCache(const at::Tensor& frame, RowRing* cache) const {
  Append(frame.expand({left_frames_, -1}), left_frames_, cache);
}

at::Tensor Depthwise::Forward(
    const std::vector<Segment>& segments, const at::Tensor& frames,
    const std::function<RowRing*(const Segment& segment)>& cache_of) const {
  std::vector<at::Tensor> filtered;
  for (const Segment& segment : segments) {
    filtered.push_back(OfSegment(segment, frames, cache_of(segment))
                           .slice(0, c10::nullopt, c10::nullopt, stride_));
  }
  return at::cat(filtered);
}

at::Tensor Depthwise::OfSegment(const Segment& segment, const at::Tensor& frames,
                                RowRing* cache) const {
  const int64_t num_rows = segment.num_rows();
  const at::Tensor new_frames = frames.narrow(0, segment.first_row, num_rows);
  const at::Tensor all = at::cat({Copy(*cache), new_frames});
  at::Tensor filtered = at::empty_like(new_frames);
  const int64_t chunk_size = right_frames_ > 0 ? segment.chunk_size : num_rows;
  for (int64_t first = 0; first < num_rows; first += chunk_size) {
    const int64_t rows = std::min(chunk_size, num_rows - first);
    filtered.narrow(0, first, rows).copy_(OfChunk(all.narrow(0, first, left_frames_ + rows)));
  }
  Append(new_frames.narrow(0, 0, segment.num_kept()), left_frames_, cache);
  return filtered;
}

at::Tensor Depthwise::OfChunk(const at::Tensor& frames) const {
  const int64_t num_rows = frames.size(0) - left_frames_;
  // One multiply-add per tap over all frames: every frame is summed in the same order, whatever the
  // length of the chunk. Taps beyond the chunk's end meet zeros, which are left out.
  at::Tensor sum = View(weights_.bias).expand({num_rows, -1}).clone();
  const at::Tensor taps = View(weights_.taps);
  for (int64_t tap = 0; tap < taps.size(0); ++tap) {
    const int64_t beyond = std::max<int64_t>(0, tap - left_frames_);
    if (beyond >= num_rows) break;
    sum.narrow(0, 0, num_rows - beyond)
        .addcmul_(frames.narrow(0, tap, num_rows - beyond), taps.select(0, tap));
  }
  return sum;
}

}  // namespace runnel::libtorch
