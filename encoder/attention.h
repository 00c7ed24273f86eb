// Multi-head self-attention over each stream's cached and new frames, whatever the position scheme.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_ATTENTION_H_
#define RUNNEL_ENCODER_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>

#include "encoder/dense.h"
#include "encoder/encoder_config.h"
#include "encoder/layer_state.h"
#include "encoder/position/position_scheme.h"
#include "encoder/weights.h"

namespace runnel {

// softmax(scores) values per head (Vaswani et al. 2017, section 3.2), for chunks of C queries whose
// L = M' + C keys start M' frames earlier. The scheme computes the scores.
class Attention {
 public:
  // Takes <name>.linear_{q,k,v,out}; the scheme has taken what is its own.
  Attention(Weights* weights, const std::string& name, const EncoderConfig& config,
            std::shared_ptr<const PositionScheme> position);

  // (total_rows, d) -> (total_rows, d). Appends each segment's keys and values to its state, then
  // drops what lies outside its left context.
  at::Tensor Forward(const at::Tensor& x, const LayerBatch& batch) const;

  // The keys, the values, or the positions of the keys, of a stream that has heard nothing.
  FrameBuffer InitialCache() const;

 private:
  // Appends a segment's keys and values, and what the scheme keeps of the same frames.
  void Remember(const at::Tensor& keys, const at::Tensor& values,
                const LayerSegment& segment) const;

  // One segment's context vectors. q: (C, d); returns (C, d).
  at::Tensor Attend(const at::Tensor& q, const LayerSegment& segment) const;

  int64_t model_dim_;
  int64_t num_heads_;
  Linear linear_q_;
  Linear linear_k_;
  Linear linear_v_;
  Linear linear_out_;
  std::shared_ptr<const PositionScheme> position_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ATTENTION_H_
