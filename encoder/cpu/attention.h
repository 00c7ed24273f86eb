// Multi-head self-attention on the kernels.
#ifndef RUNNEL_ENCODER_CPU_ATTENTION_H_
#define RUNNEL_ENCODER_CPU_ATTENTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/kernels/attention_kernel.h"
#include "encoder/cpu/kernels/packed_linear.h"
#include "encoder/cpu/layer_norm.h"
#include "encoder/cpu/options.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/position/position_scheme.h"

namespace runnel::cpu {

// The computation of libtorch::Attention. The kernel computes every position scheme but those with
// LearnedRows or LegacyRows, which are computed on tensors.
class Attention final : public ResidualModule {
 public:
  Attention(const AttentionWeights& weights, const LayerNormWeights* norm,
            const EncoderConfig& config, const PositionScheme& position, const Options& options);

  void AddTo(const std::vector<Segment>& segments, Rows x) const override;
  void Initialize(LayerState* state) const override;

 private:
  // All keys of a segment, cached ones first: pointers to rows of d, oldest first.
  struct Keys {
    int64_t count;
    int64_t num_cached;
    const float** keys;
    const float** values;
    const float** positions;  // null where the scheme keeps none
  };
  // Queries first .. first + count - 1 of a segment, and the range of keys that they attend to.
  struct Chunk {
    int64_t first;
    int64_t count;
    int64_t first_key;
    int64_t end_key;
  };

  // qkv: queries, keys and values of the segment's rows, (num_rows, 3 d).
  Keys CollectKeys(const Segment& segment, const float* qkv, kernels::Scratch* scratch) const;
  // Fills context (chunk.count, d).
  void Attend(const Keys& keys, const Chunk& chunk, const float* qkv, float* context) const;
  void AttendOnTensors(const Keys& keys, const Chunk& chunk, const float* qkv,
                       float* context) const;
  // Adds the segment's keys and values to its state, which keeps those of the left context.
  void Store(const Segment& segment, const float* qkv) const;

  Options options_;
  int64_t model_dim_;
  std::optional<LayerNorm> norm_;
  kernels::PackedLinear qkv_;  // queries, keys and values in one matmul
  kernels::PackedLinear out_;
  PositionScheme position_;
  kernels::AttentionHeads heads_;    // without the biases
  std::vector<float> content_bias_;  // (d) or empty
  std::vector<float> position_bias_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_ATTENTION_H_
