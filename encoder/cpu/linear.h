// A linear layer on the kernels.
#ifndef RUNNEL_ENCODER_CPU_LINEAR_H_
#define RUNNEL_ENCODER_CPU_LINEAR_H_

#include "encoder/backend.h"
#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/options.h"
#include "encoder/cpu/packer.h"
#include "encoder/encoder_weights.h"

namespace runnel::cpu {

class Linear final : public LinearModule {
 public:
  Linear(const LinearWeights& weights, const Options& options, Packer* packer);

  void Forward(ConstRows x, Rows y) const override;

 private:
  Options options_;
  kernels::PackedLinear linear_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_LINEAR_H_
