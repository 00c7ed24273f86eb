// Multi-head self-attention on the kernels.
#ifndef RUNNEL_ENCODER_CPU_ATTENTION_H_
#define RUNNEL_ENCODER_CPU_ATTENTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/frame_positions.h"
#include "encoder/cpu/kernels/attention/attention_kernel.h"
#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/layer_norm.h"
#include "encoder/cpu/options.h"
#include "encoder/cpu/packer.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/position/position_scheme.h"

namespace runnel::cpu {

// The computation of libtorch::Attention.
class Attention final : public ResidualModule {
 public:
  // `sinusoids`: of frame numbers, for a scheme with RowsByKeyFrame or a rotation; otherwise
  // unused.
  Attention(const AttentionWeights& weights, const LayerNormWeights* norm,
            const EncoderConfig& config, const PositionScheme& position, const Options& options,
            Packer* packer, std::shared_ptr<const FrameSinusoids> sinusoids);

  void Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const override;
  void Initialize(LayerState* state) const override;

 private:
  // Queries, keys and values of rows, (n, 3 row_dim_), and the key biases, (n, num_heads) or null.
  struct Projected {
    float* queries_keys_values;
    float* key_biases;
  };
  // All keys of a segment, cached ones first: pointers to rows, oldest first.
  struct Keys {
    int64_t count;
    int64_t num_cached;
    const float** keys;
    const float** values;
    const float** biases;  // null where the scheme has none
  };
  // Queries first .. first + count - 1 of a segment, and the range of keys that they attend to.
  struct Chunk {
    int64_t first;
    int64_t count;
    int64_t first_key;
    int64_t end_key;
  };

  // Of the rows of all segments, joined to `groups`.
  Projected Project(const std::vector<Segment>& segments, const std::vector<Segment>& groups,
                    ConstRows x, kernels::Scratch* scratch) const;
  // Rotates queries and keys by the angles of their frames.
  void Rotate(const std::vector<Segment>& segments, float* queries_keys_values) const;
  // Those of the segment that starts at this row.
  Projected From(const Projected& projected, int64_t row) const;
  Keys CollectKeys(const Segment& segment, const Projected& projected,
                   kernels::Scratch* scratch) const;
  // Fills `context` (rows of the segment, row_dim_). `next`: the segment that follows, or null.
  void AttendSegment(const Segment& segment, const Projected& projected, const Segment* next,
                     float* context) const;
  void Attend(const Keys& keys, const Chunk& chunk, kernels::AttentionRows* rows) const;
  // Adds the segment's keys and values to its state, which keeps those of the left context.
  void Store(const Segment& segment, const Projected& projected) const;

  Options options_;
  int64_t model_dim_;   // d
  int64_t group_size_;  // frames that are one row of keys, queries and values
  int64_t row_dim_;     // group_size_ * d
  std::optional<LayerNorm> norm_;
  kernels::PackedLinear qkv_;  // queries, keys and values in one matmul
  kernels::PackedLinear out_;
  PositionScheme position_;
  kernels::AttentionHeads heads_;    // without the biases
  std::vector<float> content_bias_;  // (row_dim_) or empty
  std::vector<float> position_bias_;
  std::optional<FramePositions> frame_positions_;   // for RowsByKeyFrame
  std::shared_ptr<const FrameSinusoids> rotation_;  // null where there is none
  // For LearnedRows: (d_k, stride), one column per distance, and (n, d_k) or empty.
  std::vector<float> learned_columns_;
  std::vector<float> learned_values_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_ATTENTION_H_
