// The CTC output layer: encoder frames to log probabilities of the model's units.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools.
#ifndef RUNNEL_RUNTIME_CTC_HEAD_H_
#define RUNNEL_RUNTIME_CTC_HEAD_H_

#include <ATen/core/Tensor.h>

#include <variant>

#include "encoder/dense.h"
#include "encoder/encoder.h"
#include "encoder/kernels/packed_linear.h"
#include "encoder/weights.h"

namespace runnel {

// Immutable after construction; LogProbs may run in several threads at once.
class CtcHead {
 public:
  // Takes ctc.ctc_lo.{weight (vocab_size, model_dim), bias (vocab_size)}. Computes like an encoder
  // with the same options.
  CtcHead(Weights* weights, int64_t model_dim, int64_t vocab_size,
          const EncoderOptions& options = {});

  // (rows, model_dim) -> (rows, vocab_size), natural logarithm, on the CPU.
  at::Tensor LogProbs(const at::Tensor& encoder_rows) const;

 private:
  FastOptions options_;
  std::variant<std::monostate, Linear, kernels::PackedLinear> ctc_lo_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_CTC_HEAD_H_
