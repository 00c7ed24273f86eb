#include "runtime/ctc_head.h"

#include <ATen/ops/log_softmax.h>
#include <c10/core/InferenceMode.h>

namespace runnel {

CtcHead::CtcHead(Weights* weights, int64_t model_dim, int64_t vocab_size)
    : ctc_lo_(weights, "ctc.ctc_lo", model_dim, vocab_size) {}

at::Tensor CtcHead::LogProbs(const at::Tensor& encoder_rows) const {
  const c10::InferenceMode guard;
  return at::log_softmax(ctc_lo_.Forward(encoder_rows), -1);
}

}  // namespace runnel
