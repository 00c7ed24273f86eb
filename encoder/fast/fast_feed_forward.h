// The feed-forward module on the kernels.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_FAST_FAST_FEED_FORWARD_H_
#define RUNNEL_ENCODER_FAST_FAST_FEED_FORWARD_H_

#include <cstdint>
#include <string>

#include "encoder/encoder_config.h"
#include "encoder/fast/fast_layer_state.h"
#include "encoder/fast/fast_options.h"
#include "encoder/fast/fast_rows.h"
#include "encoder/kernels/packed_linear.h"
#include "encoder/weights.h"

namespace runnel {

// FeedForward (encoder/dense.h) with the residual connection.
class FastFeedForward {
 public:
  FastFeedForward(Weights* weights, const std::string& name, int64_t dim,
                  const FeedForwardConfig& config, const FastOptions& options);

  // x = x + module(norm(x)), or of x where norm is null.
  void AddTo(const FastRows& x, const FastLayerNorm* norm, const FastBatch& batch) const;

 private:
  FastOptions options_;
  kernels::PackedLinear w_1_;
  kernels::PackedLinear w_2_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_FAST_FEED_FORWARD_H_
