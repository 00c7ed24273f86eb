// The activation functions of feed-forward and convolution modules.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_ACTIVATION_H_
#define RUNNEL_ENCODER_ACTIVATION_H_

#include <ATen/core/Tensor.h>

#include "encoder/activation_type.h"

namespace runnel {

// Element by element, any shape.
at::Tensor Activate(Activation activation, const at::Tensor& x);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ACTIVATION_H_
