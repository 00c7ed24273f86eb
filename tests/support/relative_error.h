// One number for how far two tensors are apart.
#ifndef RUNNEL_TESTS_SUPPORT_RELATIVE_ERROR_H_
#define RUNNEL_TESTS_SUPPORT_RELATIVE_ERROR_H_

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace runnel::testing {

// The largest difference, relative to the largest expected value or 1; computed in float64. Tensors
// of different shape are a failure, and infinitely far apart; so is NaN.
inline double RelativeError(const at::Tensor& actual, const at::Tensor& expected) {
  EXPECT_EQ(actual.sizes(), expected.sizes());
  if (actual.sizes() != expected.sizes()) return std::numeric_limits<double>::infinity();
  if (expected.numel() == 0) return 0;
  const at::Tensor reference = expected.to(at::kDouble);
  const double difference = (actual.to(at::kDouble) - reference).abs().max().item<double>();
  if (!(difference >= 0)) return std::numeric_limits<double>::infinity();
  return difference / std::max(1.0, reference.abs().max().item<double>());
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RELATIVE_ERROR_H_
