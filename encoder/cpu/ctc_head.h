// The CTC output layer on the kernels.
#ifndef RUNNEL_ENCODER_CPU_CTC_HEAD_H_
#define RUNNEL_ENCODER_CPU_CTC_HEAD_H_

#include <cstdint>

#include "encoder/cpu/linear.h"
#include "encoder/cpu/options.h"
#include "encoder/cpu/packer.h"
#include "encoder/ctc_head.h"
#include "encoder/encoder_weights.h"

namespace runnel::cpu {

class CtcHead final : public runnel::CtcHead {
 public:
  CtcHead(const LinearWeights& weights, const Options& options, Packer* packer);

  Matrix LogProbs(ConstRows encoder_rows) const override;

 private:
  int64_t input_dim_;
  int64_t output_dim_;
  Linear linear_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_CTC_HEAD_H_
