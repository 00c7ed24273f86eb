#include "encoder/cpu/feed_forward.h"

#include <algorithm>

namespace runnel::cpu {
namespace {

// The hidden values of so many rows stay in the second-level cache between the two matmuls.
constexpr int64_t kBlockRows = 64;

}  // namespace

FeedForward::FeedForward(const FeedForwardWeights& weights, const LayerNormWeights* norm,
                         const Options& options, Packer* packer)
    : options_(options),
      norm_(LayerNorm::If(norm)),
      w_1_(packer->Pack(weights.w_1,
                        {options.matmul_type, kernels::MatmulOutput::kInput, weights.activation})),
      w_2_(packer->Pack(weights.w_2, {options.matmul_type, kernels::MatmulOutput::kAdd,
                                      std::nullopt, weights.residual_scale})) {}

void FeedForward::Add(const std::vector<Segment>& /*segments*/, ConstRows x, Rows y) const {
  for (int64_t first = 0; first < x.count; first += kBlockRows) {
    const int64_t count = std::min(kBlockRows, x.count - first);
    kernels::Scratch scratch;
    const kernels::MatmulInput input =
        NormalizedInput(x.Part(first, count), norm_, options_.matmul_type, &scratch);
    const kernels::MatmulInput hidden =
        kernels::MatmulInput::Take(&scratch, options_.matmul_type, count, w_1_.shape().output_dim);
    w_1_.Forward(input, count, hidden);
    w_2_.Forward(hidden, count, y.float32(first));
  }
}

}  // namespace runnel::cpu
