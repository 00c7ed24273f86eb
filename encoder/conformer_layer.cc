#include "encoder/conformer_layer.h"

#include <utility>

#include "encoder/encoder_weights.h"
#include "encoder/strides.h"

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
    stride_ = weights.convolution->stride;
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

void ConformerLayer::Forward(LayerFrames* frames) const {
  if (feed_forward_macaron_) Add(*feed_forward_macaron_, frames);
  Add(attention_, frames);
  if (convolution_) Convolve(frames);
  Add(feed_forward_, frames);
  if (norm_final_) norm_final_->Normalize(frames->rows.rows());
}

void ConformerLayer::Add(const Step& step, LayerFrames* frames) {
  const Rows x = frames->rows.rows();
  step.module->Add(frames->segments, x, x);
  if (step.norm_after) step.norm_after->Normalize(x);
}

void ConformerLayer::Convolve(LayerFrames* frames) const {
  if (stride_ == 1) return Add(*convolution_, frames);
  std::vector<Segment> segments = Strided(frames->segments, stride_);
  const Segment& last = segments.back();
  Matrix rows(data_type_, model_dim_, last.first_row + last.num_rows());
  MeanOfGroups(frames->segments, stride_, frames->rows.rows(), rows.rows());
  convolution_->module->Add(frames->segments, frames->rows.rows(), rows.rows());
  if (convolution_->norm_after) convolution_->norm_after->Normalize(rows.rows());
  *frames = {std::move(segments), std::move(rows)};
}

LayerState ConformerLayer::InitialState() const {
  const RowRing empty(model_dim_, data_type_);
  LayerState state{empty, empty, empty};
  attention_.module->Initialize(&state);
  if (convolution_) convolution_->module->Initialize(&state);
  return state;
}

}  // namespace runnel
