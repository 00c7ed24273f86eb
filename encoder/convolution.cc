#include "encoder/convolution.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/glu.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros.h>

namespace runnel {

CausalConvolution::CausalConvolution(Weights* weights, const std::string& name,
                                     const EncoderConfig& config)
    : pointwise_conv1_(Linear::Pointwise(weights, name + ".pointwise_conv1", config.model_dim,
                                         int64_t{2} * config.model_dim)),
      depthwise_weight_(weights
                            ->Take(name + ".depthwise_conv.weight",
                                   {config.model_dim, 1, config.conv_kernel_size})
                            .squeeze(1)
                            .t()
                            .contiguous()),
      depthwise_bias_(weights->Take(name + ".depthwise_conv.bias", {config.model_dim})),
      norm_(weights, name + ".norm", config.model_dim, config.layer_norm_eps),
      pointwise_conv2_(Linear::Pointwise(weights, name + ".pointwise_conv2", config.model_dim,
                                         config.model_dim)) {}

FrameBuffer CausalConvolution::InitialCache() const {
  FrameBuffer cache(depthwise_weight_.size(1), depthwise_weight_.scalar_type());
  cache.Append(at::zeros({depthwise_weight_.size(0) - 1, depthwise_weight_.size(1)},
                         depthwise_weight_.options()));
  return cache;
}

at::Tensor CausalConvolution::Forward(const at::Tensor& x, const LayerBatch& batch) const {
  const at::Tensor gated = at::glu(pointwise_conv1_.Forward(x), 1);
  at::Tensor filtered = at::empty_like(gated);
  for (const LayerSegment& segment : batch) {
    FrameBuffer& cache = segment.state->cnn_cache;
    cache.Append(gated.narrow(0, segment.first_row, segment.num_rows));
    filtered.narrow(0, segment.first_row, segment.num_rows).copy_(Depthwise(cache.Rows()));
    cache.KeepLast(depthwise_weight_.size(0) - 1);
  }
  return pointwise_conv2_.Forward(at::silu(norm_.Forward(filtered)));
}

at::Tensor CausalConvolution::Depthwise(const at::Tensor& gated) const {
  const int64_t kernel_size = depthwise_weight_.size(0);
  const int64_t frames = gated.size(0) - (kernel_size - 1);
  // One multiply-add per tap over all frames: every frame is summed in the same order, whatever the
  // length of the chunk.
  at::Tensor sum = depthwise_bias_.expand({frames, -1}).clone();
  for (int64_t tap = 0; tap < kernel_size; ++tap) {
    sum.addcmul_(gated.narrow(0, tap, frames), depthwise_weight_.select(0, tap));
  }
  return sum;
}

}  // namespace runnel
