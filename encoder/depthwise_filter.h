// The weights of the depthwise convolution, with a batch norm folded into them.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_DEPTHWISE_FILTER_H_
#define RUNNEL_ENCODER_DEPTHWISE_FILTER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "encoder/encoder_config.h"
#include "encoder/weights.h"

namespace runnel {

struct DepthwiseFilter {
  at::Tensor weight;  // (K, d), oldest frame first
  at::Tensor bias;    // (d)
};

// Takes <name>.depthwise_conv and, where the norm is a batch norm, <name>.norm.
DepthwiseFilter TakeDepthwiseFilter(Weights* weights, const std::string& name, int64_t dim,
                                    const ConvolutionConfig& config);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_DEPTHWISE_FILTER_H_
