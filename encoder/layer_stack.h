// All layers of an encoder and its last norm, written once for every way of computing them.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_LAYER_STACK_H_
#define RUNNEL_ENCODER_LAYER_STACK_H_

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encoder/conformer_layer.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_core.h"
#include "encoder/position/position_scheme.h"
#include "encoder/weights.h"

namespace runnel {

template <class Backend>
class LayerStack {
 public:
  using Rows = typename Backend::Rows;
  using LayerState = typename Backend::LayerState;

  // Takes every tensor of the layers, their position schemes and encoder.after_norm.
  LayerStack(const EncoderConfig& config, Weights* weights,
             const typename Backend::Options& options)
      : input_scale_(config.scale_input ? std::sqrt(static_cast<double>(config.model_dim)) : 1.0) {
    if (config.after_norm) {
      after_norm_.emplace(weights, "encoder.after_norm", config.model_dim, config.layer_norm_eps);
    }
    std::vector<std::string> layer_names, attention_names;
    for (int i = 0; i < config.num_layers; ++i) {
      layer_names.push_back("encoder.encoders." + std::to_string(i));
      attention_names.push_back(layer_names.back() + ".self_attn");
    }
    positions_ = config.position.build(weights, attention_names, config.attention_sizes());
    layers_.reserve(layer_names.size());
    for (size_t i = 0; i < layer_names.size(); ++i) {
      layers_.emplace_back(weights, layer_names[i], config, positions_.layers[i], options);
    }
  }

  std::vector<LayerState> InitialStates() const {
    std::vector<LayerState> states;
    for (const ConformerLayer<Backend>& layer : layers_) states.push_back(layer.InitialState());
    return states;
  }

  // x: the subsampled rows of all segments, replaced by the encoder's output.
  void Forward(const std::vector<CoreSegment>& segments, const LayerObserver& observer,
               Rows* x) const {
    typename Backend::Batch batch;
    int64_t first_row = 0;
    for (const CoreSegment& segment : segments) {
      batch.push_back({first_row, segment.num_rows(), segment.wanted.begin, nullptr,
                       segment.left_context, segment.mask, segment.num_frames.has_value()});
      first_row += segment.num_rows();
    }
    if (input_scale_ != 1.0) Backend::Scale(input_scale_, x);
    for (const auto& segment : batch) {
      if (!positions_.input) break;
      Backend::AddRows(positions_.input(segment.offset, segment.num_rows), segment.first_row, x);
    }
    const auto observe = [&](const std::string& name) {
      if (observer) observer(name, Backend::CopyOf(*x));
    };
    observe("subsampling");
    for (size_t i = 0; i < layers_.size(); ++i) {
      for (size_t s = 0; s < batch.size(); ++s) {
        batch[s].state = &std::get<std::vector<LayerState>>(*segments[s].layers)[i];
      }
      layers_[i].Forward(batch, x);
      observe("layer " + std::to_string(i));
    }
    if (!after_norm_) return;
    Backend::Normalize(*after_norm_, x);
    observe("after_norm");
  }

 private:
  double input_scale_;
  PositionModules positions_;
  std::vector<ConformerLayer<Backend>> layers_;
  std::optional<typename Backend::LayerNorm> after_norm_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_LAYER_STACK_H_
