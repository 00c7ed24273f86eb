// The Conformer on the kernels: float32 rows in place, products in the chosen numbers.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_FAST_FAST_BACKEND_H_
#define RUNNEL_ENCODER_FAST_FAST_BACKEND_H_

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <memory>
#include <string>
#include <utility>

#include "encoder/encoder_config.h"
#include "encoder/fast/fast_attention.h"
#include "encoder/fast/fast_convolution.h"
#include "encoder/fast/fast_feed_forward.h"
#include "encoder/fast/fast_layer_state.h"
#include "encoder/fast/fast_options.h"
#include "encoder/fast/fast_rows.h"
#include "encoder/weights.h"

namespace runnel {

// For ConformerLayer: rows are a view of (total_rows, d) floats.
struct FastBackend {
  using Rows = FastRows;
  using Batch = FastBatch;
  using LayerState = FastLayerState;
  using LayerNorm = FastLayerNorm;
  using Attention = FastAttention;
  using Convolution = FastConvolution;
  using FeedForward = FastFeedForward;
  using Options = FastOptions;

  static Attention MakeAttention(Weights* weights, const std::string& name,
                                 const EncoderConfig& config,
                                 std::shared_ptr<const PositionScheme> position,
                                 const Options& options) {
    return Attention(weights, name, config, std::move(position), options);
  }
  static Convolution MakeConvolution(Weights* weights, const std::string& name,
                                     const EncoderConfig& config, const Options& options) {
    return Convolution(weights, name, config.model_dim, *config.convolution, options);
  }
  static FeedForward MakeFeedForward(Weights* weights, const std::string& name,
                                     const EncoderConfig& config, const Options& options) {
    return FeedForward(weights, name, config.model_dim, config.feed_forward, options);
  }

  template <class Module>
  static void AddBranch(const Module& module, const LayerNorm* norm, const Batch& batch, Rows* x) {
    module.AddTo(*x, norm, batch);
  }
  static void Normalize(const LayerNorm& norm, Rows* x) { norm.Apply(*x); }
  static void Scale(double scale, Rows* x) {
    kernels::Scale(static_cast<float>(scale), x->count * x->dim, x->values);
  }
  static void AddRows(const at::Tensor& rows, int64_t first, Rows* x) {
    at::from_blob(x->row(first), rows.sizes(), at::kFloat).add_(rows.to(at::kFloat));
  }
  static at::Tensor CopyOf(const Rows& x) {
    return at::from_blob(x.values, {x.count, x.dim}, at::kFloat).clone();
  }

  static LayerState InitialState(const Attention& attention, const Convolution* convolution) {
    const RowRing keys = attention.InitialCache();
    return {keys, keys, convolution != nullptr ? convolution->InitialCache() : keys,
            attention.InitialKeyPositions()};
  }
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_FAST_BACKEND_H_
