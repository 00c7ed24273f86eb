#include "encoder/branchformer_layer.h"

#include "encoder/encoder_weights.h"

namespace runnel {

BranchformerLayer::BranchformerLayer(const EncoderBackend& backend,
                                     const BranchformerLayerWeights& weights, int index)
    : model_dim_(weights.norm_attention.weight.size(0)),
      data_type_(backend.data_type()),
      attention_(backend.MakeAttention(index, weights.attention, &weights.norm_attention)),
      cgmlp_(backend.MakeCgmlp(weights.cgmlp, &weights.norm_cgmlp)),
      merge_(backend.MakeBranchMerge(weights.merge)),
      norm_final_(backend.MakeNorm(weights.norm_final)) {
  if (weights.feed_forward_macaron) {
    feed_forward_macaron_ =
        backend.MakeFeedForward(*weights.feed_forward_macaron, &*weights.norm_feed_forward_macaron);
  }
  if (weights.feed_forward) {
    feed_forward_ = backend.MakeFeedForward(*weights.feed_forward, &*weights.norm_feed_forward);
  }
}

void BranchformerLayer::Forward(LayerFrames* frames) const {
  const std::vector<Segment>& segments = frames->segments;
  const Rows x = frames->rows.rows();
  if (feed_forward_macaron_) feed_forward_macaron_->Add(segments, x, x);
  Matrix attended = ZeroRows(data_type_, model_dim_, x.count);
  attention_->Add(segments, x, attended.rows());
  Matrix gated = ZeroRows(data_type_, model_dim_, x.count);
  cgmlp_->Add(segments, x, gated.rows());
  merge_->Add(segments, attended.rows(), gated.rows(), x);
  if (feed_forward_) feed_forward_->Add(segments, x, x);
  norm_final_->Normalize(x);
}

LayerState BranchformerLayer::InitialState() const {
  const RowRing empty(model_dim_, data_type_);
  LayerState state{empty, empty, empty};
  attention_->Initialize(&state);
  cgmlp_->Initialize(&state);
  merge_->Initialize(&state);
  return state;
}

}  // namespace runnel
