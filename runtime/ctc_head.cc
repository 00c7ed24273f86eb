#include "runtime/ctc_head.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/log_softmax.h>
#include <c10/core/InferenceMode.h>

#include <stdexcept>
#include <string>

#include "encoder/fast/fast_weights.h"
#include "encoder/kernels/row_kernels.h"
#include "encoder/kernels/scratch.h"

namespace runnel {
namespace {

constexpr char kName[] = "ctc.ctc_lo";

at::Tensor FastLogProbs(const kernels::PackedLinear& layer, const FastOptions& options,
                        const at::Tensor& encoder_rows) {
  const int64_t rows = encoder_rows.size(0);
  const auto [input_dim, output_dim] = layer.shape();
  if (encoder_rows.dim() != 2 || encoder_rows.size(1) != input_dim) {
    throw std::invalid_argument("encoder rows are not " + std::to_string(input_dim) +
                                " wide, as the CTC layer's input");
  }
  const at::Tensor x = encoder_rows.contiguous();
  kernels::Scratch scratch;
  const kernels::ProductInput input =
      kernels::ProductInput::Take(&scratch, options.precision, rows, input_dim);
  kernels::StoreRows(x.data_ptr<float>(), rows, input);
  at::Tensor log_probs = at::empty({rows, output_dim}, at::kFloat);
  auto* values = log_probs.data_ptr<float>();
  layer.Forward(input, rows, values);
  kernels::LogSoftmax(rows, output_dim, values);
  return log_probs;
}

}  // namespace

CtcHead::CtcHead(Weights* weights, int64_t model_dim, int64_t vocab_size,
                 const EncoderOptions& options)
    : options_(options.fast) {
  if (options.backend == EncoderOptions::Backend::kLibTorch) {
    ctc_lo_.emplace<Linear>(weights, kName, model_dim, vocab_size);
  } else {
    ctc_lo_.emplace<kernels::PackedLinear>(
        Pack(weights->Take(std::string(kName) + ".weight", {vocab_size, model_dim}),
             weights->Take(std::string(kName) + ".bias", {vocab_size}), options.fast,
             kernels::ProductResult::kStore));
  }
}

at::Tensor CtcHead::LogProbs(const at::Tensor& encoder_rows) const {
  const c10::InferenceMode guard;
  if (const auto* layer = std::get_if<kernels::PackedLinear>(&ctc_lo_)) {
    return FastLogProbs(*layer, options_, encoder_rows);
  }
  return at::log_softmax(std::get<Linear>(ctc_lo_).Forward(encoder_rows), -1).cpu();
}

}  // namespace runnel
