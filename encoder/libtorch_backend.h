// The Conformer on LibTorch's operations: the reference, in any floating-point type.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_LIBTORCH_BACKEND_H_
#define RUNNEL_ENCODER_LIBTORCH_BACKEND_H_

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "encoder/attention.h"
#include "encoder/convolution.h"
#include "encoder/dense.h"
#include "encoder/encoder_config.h"
#include "encoder/layer_state.h"
#include "encoder/weights.h"

namespace runnel {

// For ConformerLayer: rows are a tensor (total_rows, d).
struct LibTorchBackend {
  using Rows = at::Tensor;
  using Batch = LayerBatch;
  using LayerState = runnel::LayerState;
  using LayerNorm = runnel::LayerNorm;
  using Attention = runnel::Attention;
  using Convolution = runnel::Convolution;
  using FeedForward = runnel::FeedForward;
  struct Options {};

  static Attention MakeAttention(Weights* weights, const std::string& name,
                                 const EncoderConfig& config,
                                 std::shared_ptr<const PositionScheme> position, const Options&) {
    return Attention(weights, name, config, std::move(position));
  }
  static Convolution MakeConvolution(Weights* weights, const std::string& name,
                                     const EncoderConfig& config, const Options&) {
    return Convolution(weights, name, config.model_dim, *config.convolution);
  }
  static FeedForward MakeFeedForward(Weights* weights, const std::string& name,
                                     const EncoderConfig& config, const Options&) {
    return FeedForward(weights, name, config.model_dim, config.feed_forward);
  }

  template <class Module>
  static void AddBranch(const Module& module, const LayerNorm* norm, const Batch& batch, Rows* x) {
    const at::Tensor input = norm != nullptr ? norm->Forward(*x) : *x;
    if constexpr (std::is_same_v<Module, FeedForward>) {
      *x = *x + module.Forward(input);
    } else {
      *x = *x + module.Forward(input, batch);
    }
  }
  static void Normalize(const LayerNorm& norm, Rows* x) { *x = norm.Forward(*x); }
  static void Scale(double scale, Rows* x) { *x = *x * scale; }
  static void AddRows(const at::Tensor& rows, int64_t first, Rows* x) {
    x->narrow(0, first, rows.size(0)).add_(rows.to(x->options()));
  }
  static at::Tensor CopyOf(const Rows& x) { return x.clone(); }

  static LayerState InitialState(const Attention& attention, const Convolution* convolution) {
    const FrameBuffer keys = attention.InitialCache();
    return {keys, keys, convolution != nullptr ? convolution->InitialCache() : keys, keys};
  }
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_LIBTORCH_BACKEND_H_
