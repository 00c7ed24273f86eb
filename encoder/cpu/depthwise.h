// A depthwise convolution over the frames of a stream, some of which its state caches.
#ifndef RUNNEL_ENCODER_CPU_DEPTHWISE_H_
#define RUNNEL_ENCODER_CPU_DEPTHWISE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encoder/activation.h"
#include "encoder/cpu/kernels/depthwise_kernel.h"
#include "encoder/cpu/kernels/matmul_input.h"
#include "encoder/cpu/layer_norm.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/layer_state.h"

namespace runnel::cpu {

class Depthwise {
 public:
  // y = activation(norm(convolution)). `norm`: none for null. `stride`: frames per output.
  Depthwise(const DepthwiseWeights& weights, ConvolutionType type, Activation activation,
            const LayerNormWeights* norm = nullptr, int64_t stride = 1);

  // Fills an empty cache with frames before the start of a stream: `frame`, of dim values.
  void FillCache(const float* frame, RowRing* cache) const;

  // Computes the segment's rows of y, from row `first_output` on. frames: (rows of all segments,
  // dim). The cache holds the frames before the segment and is advanced.
  void Forward(const Segment& segment, const float* frames, RowRing* cache, int64_t first_output,
               const kernels::MatmulInput& y) const;

 private:
  kernels::DepthwiseWeights weights() const;

  int64_t dim_;
  int64_t kernel_size_;
  int64_t left_frames_;   // that a frame reads before itself
  int64_t right_frames_;  // that it reads after itself, within its chunk
  int64_t stride_;
  Activation activation_;
  std::vector<float> taps_;  // (kernel_size, dim)
  std::vector<float> bias_;  // (dim)
  std::optional<LayerNorm> norm_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_DEPTHWISE_H_
