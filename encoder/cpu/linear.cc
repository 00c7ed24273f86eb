#include "encoder/cpu/linear.h"

#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/cpu/kernels/scratch.h"

namespace runnel::cpu {

Linear::Linear(const LinearWeights& weights, const Options& options, Packer* packer)
    : options_(options),
      linear_(packer->Pack(weights, {options.matmul_type, kernels::MatmulOutput::kStore})) {}

void Linear::Forward(ConstRows x, Rows y) const {
  kernels::Scratch scratch;
  const kernels::MatmulInput input =
      kernels::MatmulInput::Take(&scratch, options_.matmul_type, x.count, x.dim);
  kernels::StoreRows(x.float32(), x.count, input);
  linear_.Forward(input, x.count, y.float32());
}

}  // namespace runnel::cpu
