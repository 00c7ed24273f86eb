#include "encoder/cpu/ctc_head.h"

#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/cpu/kernels/scratch.h"
#include "encoder/cpu/packing.h"

namespace runnel::cpu {

CtcHead::CtcHead(const LinearWeights& weights, const Options& options)
    : options_(options), linear_(Pack(weights, options, kernels::MatmulOutput::kStore)) {}

Matrix CtcHead::LogProbs(ConstRows encoder_rows) const {
  const auto [input_dim, output_dim] = linear_.shape();
  const int64_t rows = encoder_rows.count;
  if (encoder_rows.dim != input_dim) ThrowWidth(encoder_rows.dim, input_dim);
  kernels::Scratch scratch;
  const kernels::MatmulInput input =
      kernels::MatmulInput::Take(&scratch, options_.matmul_type, rows, input_dim);
  kernels::StoreRows(encoder_rows.float32(), rows, input);
  Matrix log_probs(DataType::kFloat32, output_dim, rows);
  float* values = log_probs.rows().float32();
  linear_.Forward(input, rows, values);
  kernels::LogSoftmax(rows, output_dim, values);
  return log_probs;
}

}  // namespace runnel::cpu
