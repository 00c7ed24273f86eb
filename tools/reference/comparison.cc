#include "tools/reference/comparison.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace runnel {

Difference DifferenceBetween(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.sizes() != expected.sizes()) {
    std::ostringstream message;
    message << "results of different shape: " << actual.sizes() << " and " << expected.sizes();
    throw std::runtime_error(message.str());
  }
  if (expected.numel() == 0) return {};
  const double difference = (actual - expected).abs().max().item<double>();
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  return {difference, difference / scale};
}

}  // namespace runnel
