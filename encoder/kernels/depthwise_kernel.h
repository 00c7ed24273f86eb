// The depthwise convolution of a Conformer layer over one stream's chunk, with what follows it.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_KERNELS_DEPTHWISE_KERNEL_H_
#define RUNNEL_ENCODER_KERNELS_DEPTHWISE_KERNEL_H_

#include <cstdint>
#include <optional>

#include "encoder/activation_type.h"
#include "encoder/kernels/product_input.h"
#include "encoder/kernels/row_kernels.h"

namespace runnel::kernels {

struct DepthwiseWeights {
  const float* taps;  // (kernel_size, dim), oldest frame first
  const float* bias;  // (dim)
  int64_t kernel_size;
  std::optional<NormWeights> norm;
  Activation activation;
};

// Row i of y (the first of which is row `first`): activation(norm(bias + sum over taps of
// taps[tap] * frames[i + tap])), for i below num_outputs. `frames`: pointers to num_frames rows;
// taps that would read beyond them are left out (they meet zeros).
void DepthwiseConvolution(const float* const* frames, int64_t num_frames, int64_t num_outputs,
                          const DepthwiseWeights& weights, const ProductInput& y, int64_t first);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_KERNELS_DEPTHWISE_KERNEL_H_
