#include "encoder/fast/fast_weights.h"

#include <ATen/TensorOperators.h>

namespace runnel {

std::vector<float> ValuesOf(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  const at::Tensor values = tensor.to(at::kFloat).contiguous();
  const auto* begin = values.data_ptr<float>();
  return {begin, begin + values.numel()};
}

kernels::PackedLinear Pack(const at::Tensor& weight, const at::Tensor& bias,
                           const FastOptions& options, kernels::ProductResult result,
                           std::optional<Activation> activation, double scale) {
  const at::Tensor matrix = (scale == 1.0 ? weight : weight * scale).contiguous();
  const std::vector<float> offsets =
      ValuesOf(scale == 1.0 || !bias.defined() ? bias : bias * scale);
  return {matrix.data_ptr<float>(),
          offsets.empty() ? nullptr : offsets.data(),
          {matrix.numel() / matrix.size(0), matrix.size(0)},
          options.precision,
          result,
          activation};
}

}  // namespace runnel
