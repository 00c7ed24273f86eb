// Tensors of the model file in the form that the kernels read.
#ifndef RUNNEL_ENCODER_CPU_PACKING_H_
#define RUNNEL_ENCODER_CPU_PACKING_H_

#include <optional>

#include "encoder/activation.h"
#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/options.h"
#include "encoder/encoder_weights.h"

namespace runnel::cpu {

// Weight and bias are multiplied by `scale`.
kernels::PackedLinear Pack(const LinearWeights& weights, const Options& options,
                           kernels::MatmulOutput output,
                           std::optional<Activation> activation = std::nullopt, double scale = 1.0);

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_PACKING_H_
