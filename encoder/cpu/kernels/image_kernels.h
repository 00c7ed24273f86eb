// The strided convolutions of the subsampling over (frame, bin) images, channels innermost.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_KERNELS_IMAGE_KERNELS_H_
#define RUNNEL_ENCODER_KERNELS_IMAGE_KERNELS_H_

#include <cstdint>

#include "encoder/kernels/product_input.h"

namespace runnel::kernels {

// Some frames of a signal, (num_frames, bins, channels) contiguous, the first of them `first_frame`
// of the signal. A convolution reads zeros for frames and bins that are not there.
struct Image {
  const float* values;
  int64_t first_frame;
  int64_t num_frames;
  int64_t bins;
  int64_t channels;
};

// A square kernel over frames and bins alike: output frame t reads the input frames t * stride -
// padding to t * stride - padding + size - 1, and output bins likewise.
struct ImageKernel {
  int64_t size;
  int64_t stride;
  int64_t padding;
};

// Which outputs are computed: frames first_frame .. first_frame + num_frames - 1, all `bins`.
struct ImageOutputs {
  int64_t first_frame;
  int64_t num_frames;
  int64_t bins;
};

// A 3 x 3 convolution of one input channel: y (num_frames, bins, channels) = relu(bias + ...).
// weights: (9, channels), frames outermost.
void ConvolveOneChannel(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
                        const float* weights, const float* bias, int64_t channels, float* y);

// A depthwise convolution, without activation: y has one row of channels per output. weights:
// (size * size, channels).
void ConvolveDepthwise(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
                       const float* weights, const float* bias, const ProductInput& y);

// What each output reads, one row of (size, size, channels) per output: a convolution becomes the
// product of these rows with its weights.
void GatherPatches(const Image& x, const ImageKernel& kernel, const ImageOutputs& outputs,
                   const ProductInput& y);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_KERNELS_IMAGE_KERNELS_H_
