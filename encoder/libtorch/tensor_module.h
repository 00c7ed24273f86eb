// What the LibTorch backend's attention, convolution and feed-forward modules have in common.
#ifndef RUNNEL_ENCODER_LIBTORCH_TENSOR_MODULE_H_
#define RUNNEL_ENCODER_LIBTORCH_TENSOR_MODULE_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/encoder_weights.h"

namespace runnel::libtorch {

// A module stated on tensors.
class TensorModule : public ResidualModule {
 public:
  // The module alone, without norm and residual connection: (total_rows, d) -> (total_rows, d).
  // Advances the state of each segment.
  virtual at::Tensor Forward(const at::Tensor& x, const std::vector<Segment>& segments) const = 0;

  void Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const final;

 protected:
  // `norm`: before the module; null for none.
  explicit TensorModule(const LayerNormWeights* norm) {
    if (norm != nullptr) norm_ = *norm;
  }

 private:
  std::optional<LayerNormWeights> norm_;
};

}  // namespace runnel::libtorch

#endif  // RUNNEL_ENCODER_LIBTORCH_TENSOR_MODULE_H_
