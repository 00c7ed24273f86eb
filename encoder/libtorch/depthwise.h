// A depthwise convolution over the frames of a stream, some of which its state caches.
#ifndef RUNNEL_ENCODER_LIBTORCH_DEPTHWISE_H_
#define RUNNEL_ENCODER_LIBTORCH_DEPTHWISE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/layer_state.h"

namespace runnel::libtorch {

// ConvolutionType says which frames the convolution reads. One that reads ahead reads zeros after
// the end of the chunk (Dynamic Chunk Convolution, Li et al. 2023).
class Depthwise {
 public:
  Depthwise(const DepthwiseWeights& weights, ConvolutionType type, int64_t stride = 1);

  // Fills an empty cache with frames before the start of a stream: `frame`, (1, dim).
  void FillCache(const at::Tensor& frame, RowRing* cache) const;

  // frames: (rows of all segments, dim). The result has their rows at the stride. cache_of(segment)
  // is the RowRing of the frames before the segment, which is advanced.
  at::Tensor Forward(const std::vector<Segment>& segments, const at::Tensor& frames,
                     const std::function<RowRing*(const Segment& segment)>& cache_of) const;

 private:
  at::Tensor OfSegment(const Segment& segment, const at::Tensor& frames, RowRing* cache) const;
  // One chunk: (left + n, dim) -> (n, dim).
  at::Tensor OfChunk(const at::Tensor& frames) const;

  DepthwiseWeights weights_;
  int64_t left_frames_;
  int64_t right_frames_;
  int64_t stride_;
};

}  // namespace runnel::libtorch

#endif  // RUNNEL_ENCODER_LIBTORCH_DEPTHWISE_H_
