#include "encoder/depthwise_filter.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/zeros.h>

#include <vector>

namespace runnel {
namespace {

void FoldBatchNorm(Weights* weights, const std::string& name, double epsilon,
                   DepthwiseFilter* filter) {
  const std::vector<int64_t> shape = {filter->bias.size(0)};
  const auto take = [&](const char* field) {
    return weights->Take(name + field, shape).to(at::kDouble);
  };
  const at::Tensor mean = take(".running_mean");
  const at::Tensor scale = take(".weight") / (take(".running_var") + epsilon).sqrt();
  const at::Tensor bias = (filter->bias - mean) * scale + take(".bias");
  if (!at::isfinite(scale).all().item<bool>()) {
    weights->Fail(name + ".running_var", "holds a negative value, expected a variance");
  }
  filter->weight = (filter->weight * scale).to(weights->dtype());
  filter->bias = bias.to(weights->dtype());
}

}  // namespace

DepthwiseFilter TakeDepthwiseFilter(Weights* weights, const std::string& name, int64_t dim,
                                    const ConvolutionConfig& config) {
  DepthwiseFilter filter;
  filter.weight = weights->Take(name + ".depthwise_conv.weight", {dim, 1, config.kernel_size})
                      .squeeze(1)
                      .t()
                      .contiguous();
  filter.bias = config.bias ? weights->Take(name + ".depthwise_conv.bias", {dim})
                            : at::zeros({dim}, weights->options());
  if (config.norm == ConvolutionNorm::kBatchNorm) {
    FoldBatchNorm(weights, name + ".norm", config.norm_epsilon, &filter);
  }
  return filter;
}

}  // namespace runnel
