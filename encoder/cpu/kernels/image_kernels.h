// The strided convolutions of the subsampling over (frame, bin) images, channels innermost. The
// threads of a step share the frames (step_threads.h).
#ifndef RUNNEL_ENCODER_CPU_KERNELS_IMAGE_KERNELS_H_
#define RUNNEL_ENCODER_CPU_KERNELS_IMAGE_KERNELS_H_

#include <cstdint>

#include "encoder/activation.h"
#include "encoder/cpu/kernels/matmul_input.h"

namespace runnel::kernels {

// Frames of a signal from `first_frame` on, (num_frames, bins, channels) contiguous. A convolution
// reads zeros for all other frames and bins.
struct Image {
  const float* values;
  int64_t first_frame;
  int64_t num_frames;
  int64_t bins;
  int64_t channels;
};

// A kernel over frames and bins: output frame t reads the input frames t * stride - padding to
// t * stride - padding + size - 1, and output bins likewise, of bin_size.
struct ImageKernel {
  int64_t size;
  int64_t bin_size;
  int64_t stride;
  int64_t padding;
};

// The outputs to compute: frames first_frame .. first_frame + num_frames - 1, all `bins`.
struct ImageOutputs {
  int64_t first_frame;
  int64_t num_frames;
  int64_t bins;
};

// A 3 x 3 convolution of one input channel: y (num_frames, bins, channels) =
// activation(bias + ...). weights: (9, channels), frames outermost.
void ConvolveOneChannel(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
                        const float* weights, const float* bias, int64_t channels,
                        Activation activation, float* y);

// A depthwise convolution with a square kernel, without activation. y: one row of channels per
// output. weights: (size * size, channels).
void ConvolveDepthwise(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
                       const float* weights, const float* bias, const MatmulInput& y);

// The inputs that each output reads, one row of (size, bin_size, channels) per output. A
// convolution is the matmul of these rows with its weights.
void GatherPatches(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
                   const MatmulInput& y);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_IMAGE_KERNELS_H_
