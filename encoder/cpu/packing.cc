#include "encoder/cpu/packing.h"

#include <ATen/TensorOperators.h>

#include <vector>

#include "encoder/cpu/stored_matrices.h"

namespace runnel::cpu {

kernels::PackedLinear Pack(const LinearWeights& weights, const Options& options,
                           kernels::MatmulOutput output, std::optional<Activation> activation,
                           double scale) {
  const auto scaled = [scale](const at::Tensor& tensor) {
    return scale == 1.0 || !tensor.defined() ? tensor : tensor * scale;
  };
  const std::vector<float> bias_values = Float32Values(scaled(weights.bias));
  const float* bias = bias_values.empty() ? nullptr : bias_values.data();
  const kernels::LinearShape shape{weights.weight.size(1), weights.weight.size(0)};
  if (options.stored != nullptr) {
    return {options.stored->Take(shape), bias, options.matmul_type, output, activation};
  }
  const at::Tensor matrix = scaled(weights.weight).contiguous();
  kernels::PackedLinear packed(matrix.data_ptr<float>(), bias, shape, options.matmul_type, output,
                               activation);
  if (options.packed != nullptr) options.packed->push_back(packed.Stored());
  return packed;
}

}  // namespace runnel::cpu
