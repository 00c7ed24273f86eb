#include "encoder/activation.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>
#include <c10/util/Exception.h>

namespace runnel {

at::Tensor Activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::kSwish:
      return at::silu(x);
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kGelu:
      return at::gelu(x);
  }
  TORCH_INTERNAL_ASSERT(false, "an activation without a function");
}

}  // namespace runnel
