// Multi-head self-attention on the kernels.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_FAST_FAST_ATTENTION_H_
#define RUNNEL_ENCODER_FAST_FAST_ATTENTION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/fast/distance_rows.h"
#include "encoder/fast/fast_layer_state.h"
#include "encoder/fast/fast_options.h"
#include "encoder/fast/fast_rows.h"
#include "encoder/kernels/attention_kernel.h"
#include "encoder/kernels/packed_linear.h"
#include "encoder/position/position_scheme.h"
#include "encoder/weights.h"

namespace runnel {

// Attention (encoder/attention.h) with the residual connection. A scheme whose scores are sums of
// products (PositionScheme::score_terms) is computed without forming tensors; others are asked for
// their scores, as in the reference.
class FastAttention {
 public:
  FastAttention(Weights* weights, const std::string& name, const EncoderConfig& config,
                std::shared_ptr<const PositionScheme> position, const FastOptions& options);

  // x = x + module(norm(x)), or of x where norm is null. Adds each segment's keys and values to its
  // state, which keeps those within its left context.
  void AddTo(const FastRows& x, const FastLayerNorm* norm, const FastBatch& batch) const;

  // The keys, or the values, of a stream that has heard nothing.
  RowRing InitialCache() const;
  // The positions of its keys.
  FrameBuffer InitialKeyPositions() const;

 private:
  // Pointers to rows of d: all keys of a chunk, oldest first.
  struct Keys {
    int64_t count;
    const float** keys;
    const float** values;
    const float** positions;  // null where the scheme keeps none
  };
  Keys CollectKeys(const FastSegment& segment, const float* qkv, kernels::Scratch* scratch) const;

  // Queries first .. first + count - 1 of a segment over the keys [begin, end) of `keys`.
  void AttendTo(const FastSegment& segment, const Keys& keys, int64_t begin, int64_t end,
                int64_t first, int64_t count, const float* qkv, float* context) const;
  // The same by the scheme's own scores.
  void AttendByScheme(const FastSegment& segment, const Keys& keys, int64_t begin, int64_t end,
                      int64_t first, int64_t count, const float* qkv, float* context) const;

  void Remember(const FastSegment& segment, const float* qkv) const;

  FastOptions options_;
  int64_t model_dim_;
  int64_t num_heads_;
  kernels::PackedLinear linear_qkv_;
  kernels::PackedLinear linear_out_;
  std::shared_ptr<const PositionScheme> position_;
  kernels::AttentionHeads heads_;
  bool by_terms_ = false;
  std::vector<float> content_bias_;
  std::vector<float> position_bias_;
  std::optional<DistanceRows> distance_rows_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_FAST_ATTENTION_H_
