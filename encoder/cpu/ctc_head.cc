#include "encoder/cpu/ctc_head.h"

#include "encoder/cpu/kernels/row_kernels.h"

namespace runnel::cpu {

CtcHead::CtcHead(const LinearWeights& weights, const Options& options, Packer* packer)
    : input_dim_(weights.weight.size(1)),
      output_dim_(weights.weight.size(0)),
      linear_(weights, options, packer) {}

Matrix CtcHead::LogProbs(ConstRows encoder_rows) const {
  if (encoder_rows.dim != input_dim_) ThrowWidth(encoder_rows.dim, input_dim_);
  Matrix log_probs(DataType::kFloat32, output_dim_, encoder_rows.count);
  linear_.Forward(encoder_rows, log_probs.rows());
  kernels::LogSoftmax(encoder_rows.count, output_dim_, log_probs.rows().float32());
  return log_probs;
}

}  // namespace runnel::cpu
