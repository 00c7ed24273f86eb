#include "encoder/fast/fast_feed_forward.h"

#include <algorithm>
#include <vector>

namespace runnel {
namespace {

// Rows whose hidden values stay in the second-level cache between the two products.
constexpr int64_t kBlockRows = 64;

kernels::PackedLinear TakeLinear(Weights* weights, const std::string& name,
                                 const std::vector<int64_t>& shape, bool bias,
                                 const FastOptions& options, kernels::ProductResult result,
                                 std::optional<Activation> activation, double scale) {
  return Pack(weights->Take(name + ".weight", shape),
              bias ? weights->Take(name + ".bias", {shape[0]}) : at::Tensor(), options, result,
              activation, scale);
}

}  // namespace

FastFeedForward::FastFeedForward(Weights* weights, const std::string& name, int64_t dim,
                                 const FeedForwardConfig& config, const FastOptions& options)
    : options_(options),
      w_1_(TakeLinear(weights, name + ".w_1", {config.hidden_dim, dim}, config.bias, options,
                      kernels::ProductResult::kInput, config.activation, 1.0)),
      w_2_(TakeLinear(weights, name + ".w_2", {dim, config.hidden_dim}, config.bias, options,
                      kernels::ProductResult::kAdd, std::nullopt, config.residual_scale())) {}

void FastFeedForward::AddTo(const FastRows& x, const FastLayerNorm* norm,
                            const FastBatch& /*batch*/) const {
  for (int64_t first = 0; first < x.count; first += kBlockRows) {
    const int64_t count = std::min(kBlockRows, x.count - first);
    kernels::Scratch scratch;
    const kernels::ProductInput input =
        NormedInput(x, first, count, norm, options_.precision, &scratch);
    const kernels::ProductInput hidden =
        kernels::ProductInput::Take(&scratch, options_.precision, count, w_1_.shape().output_dim);
    w_1_.Forward(input, count, hidden);
    w_2_.Forward(hidden, count, x.row(first));
  }
}

}  // namespace runnel
