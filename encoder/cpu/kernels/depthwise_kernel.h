// The depthwise convolution of a Conformer layer over one chunk, with its norm and activation. The
// threads of a step share the outputs (step_threads.h).
#ifndef RUNNEL_ENCODER_CPU_KERNELS_DEPTHWISE_KERNEL_H_
#define RUNNEL_ENCODER_CPU_KERNELS_DEPTHWISE_KERNEL_H_

#include <cstdint>
#include <optional>

#include "encoder/activation.h"
#include "encoder/cpu/kernels/matmul_input.h"
#include "encoder/cpu/kernels/row_kernels.h"

namespace runnel::kernels {

struct DepthwiseWeights {
  const float* taps;  // (kernel_size, dim), oldest frame first
  const float* bias;  // (dim)
  int64_t kernel_size;
  std::optional<NormWeights> norm;
  Activation activation;
};

// Row first + i of y = activation(norm(bias + sum over taps of taps[tap] * frames[i + tap])), for i
// below num_outputs. `frames`: pointers to num_frames rows. Frames after these count as zero.
void DepthwiseConvolution(const float* const* frames, int64_t num_frames, int64_t num_outputs,
                          const DepthwiseWeights& weights, const MatmulInput& y, int64_t first);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_DEPTHWISE_KERNEL_H_
