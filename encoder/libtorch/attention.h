// Multi-head self-attention in LibTorch, with keys and values cached, for every position scheme.
#ifndef RUNNEL_ENCODER_LIBTORCH_ATTENTION_H_
#define RUNNEL_ENCODER_LIBTORCH_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/libtorch/tensor_module.h"
#include "encoder/position/position_scheme.h"

namespace runnel::libtorch {

// softmax(scores) values per head (Vaswani et al. 2017, section 3.2), for chunks of C queries whose
// C + M keys start M frames earlier. The position scheme states the scores.
class Attention final : public TensorModule {
 public:
  Attention(const AttentionWeights& weights, const LayerNormWeights* norm,
            const EncoderConfig& config, const PositionScheme& position)
      : TensorModule(norm), weights_(weights), num_heads_(config.num_heads), position_(position) {}

  // Adds each segment's keys and values to its state, which keeps those of its left context.
  at::Tensor Forward(const at::Tensor& x, const std::vector<Segment>& segments) const override;
  void Initialize(LayerState* state) const override;

 private:
  // Queries or keys, (rows, d), rotated by the angles of their frames, where the scheme does that.
  at::Tensor Rotated(const at::Tensor& rows, FrameRange frames) const;

  // (frames, d) to groups of frames, (groups, group_size * d), with zeros for missing frames.
  at::Tensor Grouped(const at::Tensor& rows) const;

  // One segment's context vectors (num_rows, row width), from its queries, keys and values: those
  // of groups.
  at::Tensor Attend(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values,
                    const Segment& segment) const;

  AttentionWeights weights_;
  int64_t num_heads_;
  PositionScheme position_;
};

}  // namespace runnel::libtorch

#endif  // RUNNEL_ENCODER_LIBTORCH_ATTENTION_H_
