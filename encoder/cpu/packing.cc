#include "encoder/cpu/packing.h"

#include <ATen/TensorOperators.h>

#include <vector>

namespace runnel::cpu {

kernels::PackedLinear Pack(const LinearWeights& weights, const Options& options,
                           kernels::MatmulOutput output, std::optional<Activation> activation,
                           double scale) {
  const auto scaled = [scale](const at::Tensor& tensor) {
    return scale == 1.0 || !tensor.defined() ? tensor : tensor * scale;
  };
  const at::Tensor matrix = scaled(weights.weight).contiguous();
  const std::vector<float> bias = Float32Values(scaled(weights.bias));
  return {matrix.data_ptr<float>(),
          bias.empty() ? nullptr : bias.data(),
          {matrix.size(1), matrix.size(0)},
          options.matmul_type,
          output,
          activation};
}

}  // namespace runnel::cpu
