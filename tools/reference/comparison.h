// The difference between two tensors that should be equal.
#ifndef RUNNEL_TOOLS_REFERENCE_COMPARISON_H_
#define RUNNEL_TOOLS_REFERENCE_COMPARISON_H_

#include <ATen/core/Tensor.h>

#include "tools/verification/check.h"

namespace runnel {

// NaN where a value is. Throws std::runtime_error when the shapes differ.
Difference DifferenceBetween(const at::Tensor& actual, const at::Tensor& expected);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_REFERENCE_COMPARISON_H_
