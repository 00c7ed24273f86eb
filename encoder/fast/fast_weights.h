// Tensors of the model file as the kernels read them.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_FAST_FAST_WEIGHTS_H_
#define RUNNEL_ENCODER_FAST_FAST_WEIGHTS_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

#include "encoder/activation_type.h"
#include "encoder/fast/fast_options.h"
#include "encoder/kernels/packed_linear.h"
#include "encoder/weights.h"

namespace runnel {

// The values of a float32 tensor, row-major; none of an undefined one.
std::vector<float> ValuesOf(const at::Tensor& tensor);

// A layer of weight (output_dim, input_dim, perhaps 1) and bias (output_dim) or undefined, both
// multiplied by `scale`.
kernels::PackedLinear Pack(const at::Tensor& weight, const at::Tensor& bias,
                           const FastOptions& options, kernels::ProductResult result,
                           std::optional<Activation> activation = std::nullopt, double scale = 1.0);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_FAST_WEIGHTS_H_
