// One Branchformer or E-Branchformer layer over a ragged batch, for every backend.
#ifndef RUNNEL_ENCODER_BRANCHFORMER_LAYER_H_
#define RUNNEL_ENCODER_BRANCHFORMER_LAYER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "encoder/backend.h"
#include "encoder/encoder_layer.h"
#include "encoder/layer_state.h"
#include "encoder/rows.h"

namespace runnel {

struct BranchformerLayerWeights;

// Peng et al. 2022, section 3: attention and cgMLP side by side, merged, norm. Kim et al. 2022 adds
// the half-step feed-forward modules and the convolution of the merging (E-Branchformer).
class BranchformerLayer final : public EncoderLayer {
 public:
  // `index` counts layers from 0.
  BranchformerLayer(const EncoderBackend& backend, const BranchformerLayerWeights& weights,
                    int index);

  void Forward(LayerFrames* frames) const override;
  LayerState InitialState() const override;

 private:
  int64_t model_dim_;
  DataType data_type_;
  std::unique_ptr<const ResidualModule> feed_forward_macaron_;  // null where there is none
  std::unique_ptr<const ResidualModule> attention_;
  std::unique_ptr<const ResidualModule> cgmlp_;
  std::unique_ptr<const BranchMergeModule> merge_;
  std::unique_ptr<const ResidualModule> feed_forward_;  // null where there is none
  std::unique_ptr<const NormModule> norm_final_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_BRANCHFORMER_LAYER_H_
