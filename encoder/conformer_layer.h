// One Conformer layer over a ragged batch, written once for every way of computing it.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_CONFORMER_LAYER_H_
#define RUNNEL_ENCODER_CONFORMER_LAYER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "encoder/encoder_config.h"
#include "encoder/position/position_scheme.h"
#include "encoder/weights.h"

namespace runnel {

// Gulati et al. 2020, section 2: half-step feed-forward, attention, convolution, half-step
// feed-forward, norm. Without convolution and the first feed-forward module it is a Transformer's.
// Immutable after construction; Forward may run in several threads at once on different states.
//
// Backend (libtorch_backend.h, fast/fast_backend.h) says what rows are, what a layer remembers, and
// which modules there are: AddBranch(module, norm, batch, x) is x = x + module(norm(x)), without
// norm where that is null.
template <class Backend>
class ConformerLayer {
 public:
  using Rows = typename Backend::Rows;
  using Batch = typename Backend::Batch;

  // Takes every tensor under `name` but those of the position scheme.
  ConformerLayer(Weights* weights, const std::string& name, const EncoderConfig& config,
                 std::shared_ptr<const PositionScheme> position,
                 const typename Backend::Options& options)
      : norm_first_(config.norm_first),
        self_attn_{Norm(weights, name + ".norm_mha", config),
                   Backend::MakeAttention(weights, name + ".self_attn", config, std::move(position),
                                          options)},
        feed_forward_{Norm(weights, name + ".norm_ff", config),
                      Backend::MakeFeedForward(weights, name + ".feed_forward", config, options)} {
    if (config.feed_forward.macaron) {
      feed_forward_macaron_.emplace(Branch<FeedForward>{
          Norm(weights, name + ".norm_ff_macaron", config),
          Backend::MakeFeedForward(weights, name + ".feed_forward_macaron", config, options)});
    }
    if (config.convolution) {
      conv_module_.emplace(Branch<Convolution>{
          Norm(weights, name + ".norm_conv", config),
          Backend::MakeConvolution(weights, name + ".conv_module", config, options)});
      norm_final_.emplace(Norm(weights, name + ".norm_final", config));
    }
  }

  // x: (total_rows, d), replaced; advances each segment's state.
  void Forward(const Batch& batch, Rows* x) const {
    if (feed_forward_macaron_) Add(*feed_forward_macaron_, batch, x);
    Add(self_attn_, batch, x);
    if (conv_module_) Add(*conv_module_, batch, x);
    Add(feed_forward_, batch, x);
    if (norm_final_) Backend::Normalize(*norm_final_, x);
  }

  // What the layer remembers of a stream that has heard nothing.
  typename Backend::LayerState InitialState() const {
    return Backend::InitialState(self_attn_.module, conv_module_ ? &conv_module_->module : nullptr);
  }

 private:
  using LayerNorm = typename Backend::LayerNorm;
  using Attention = typename Backend::Attention;
  using Convolution = typename Backend::Convolution;
  using FeedForward = typename Backend::FeedForward;

  // A module and the norm before (or after) it.
  template <class Module>
  struct Branch {
    LayerNorm norm;
    Module module;
  };

  static LayerNorm Norm(Weights* weights, const std::string& name, const EncoderConfig& config) {
    return LayerNorm(weights, name, config.model_dim, config.layer_norm_eps);
  }

  // x + branch(norm(x)), or norm(x + branch(x)).
  template <class Module>
  void Add(const Branch<Module>& branch, const Batch& batch, Rows* x) const {
    Backend::AddBranch(branch.module, norm_first_ ? &branch.norm : nullptr, batch, x);
    if (!norm_first_) Backend::Normalize(branch.norm, x);
  }

  bool norm_first_;
  std::optional<Branch<FeedForward>> feed_forward_macaron_;
  Branch<Attention> self_attn_;
  std::optional<Branch<Convolution>> conv_module_;
  Branch<FeedForward> feed_forward_;
  std::optional<LayerNorm> norm_final_;  // where there is a convolution
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CONFORMER_LAYER_H_
