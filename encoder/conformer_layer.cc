#include "encoder/conformer_layer.h"

#include "encoder/encoder_weights.h"

namespace runnel {

ConformerLayer::ConformerLayer(const EncoderBackend& backend, const ConformerLayerWeights& weights,
                               int index, bool norm_first)
    : model_dim_(weights.attention.out.weight.size(0)), data_type_(backend.data_type()) {
  // make(norm) makes a module with that norm before it.
  const auto step = [&](const std::optional<LayerNormWeights>& norm, const auto& make) {
    if (!norm) return Step{make(nullptr), nullptr};
    return norm_first ? Step{make(&*norm), nullptr} : Step{make(nullptr), backend.MakeNorm(*norm)};
  };
  if (weights.feed_forward_macaron) {
    feed_forward_macaron_ =
        step(weights.norm_feed_forward_macaron, [&](const LayerNormWeights* norm) {
          return backend.MakeFeedForward(*weights.feed_forward_macaron, norm);
        });
  }
  attention_ = step(weights.norm_attention, [&](const LayerNormWeights* norm) {
    return backend.MakeAttention(index, weights.attention, norm);
  });
  if (weights.convolution) {
    convolution_ = step(weights.norm_convolution, [&](const LayerNormWeights* norm) {
      return backend.MakeConvolution(*weights.convolution, norm);
    });
  }
  feed_forward_ = step(weights.norm_feed_forward, [&](const LayerNormWeights* norm) {
    return backend.MakeFeedForward(weights.feed_forward, norm);
  });
  if (weights.norm_final) norm_final_ = backend.MakeNorm(*weights.norm_final);
  if (weights.basic_norm) norm_final_ = backend.MakeBasicNorm(*weights.basic_norm);
}

void ConformerLayer::Forward(const std::vector<Segment>& segments, Rows x) const {
  if (feed_forward_macaron_) Add(*feed_forward_macaron_, segments, x);
  Add(attention_, segments, x);
  if (convolution_) Add(*convolution_, segments, x);
  Add(feed_forward_, segments, x);
  if (norm_final_) norm_final_->Normalize(x);
}

void ConformerLayer::Add(const Step& step, const std::vector<Segment>& segments, Rows x) {
  step.module->Add(segments, x, x);
  if (step.norm_after) step.norm_after->Normalize(x);
}

LayerState ConformerLayer::InitialState() const {
  const RowRing empty(model_dim_, data_type_);
  LayerState state{empty, empty, empty};
  attention_.module->Initialize(&state);
  if (convolution_) convolution_->module->Initialize(&state);
  return state;
}

}  // namespace runnel
