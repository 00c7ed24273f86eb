// A layer's position scheme as data: the terms of its attention scores. How to add a
// scheme: see DESIGN.md.
#ifndef RUNNEL_ENCODER_POSITION_POSITION_SCHEME_H_
#define RUNNEL_ENCODER_POSITION_POSITION_SCHEME_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "encoder/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/weights.h"
#include "encoder/position/distances.h"
#include "encoder/position/linear_pos.h"
#include "encoder/position/position_table.h"
#include "encoder/position/sinusoids.h"
#include "encoder/position_config.h"

namespace runnel {

// p_ij is the row of the distance between i and j. Distances that the table's bounds exclude read
// the row at the nearest bound.
struct RowsByDistance {
  std::shared_ptr<const PositionTable> table;  // of all layers
  size_t layer;
};

// p_ij is the row of the absolute frame of key j.
struct RowsByKeyFrame {
  LinearPos linear_pos;
};

// p_ij is a learned row of d_k values that all heads share, by distance. The context vector of
// query i also gets the sum over j of weight_ij times such a row.
struct LearnedRows {
  Distances distances;  // of the rows; distances beyond them read the row at the nearest end
  Tensor keys;          // (n, d_k): p
  Tensor values;        // (n, d_k), undefined: nothing is added to the context
};

// p_ij by ESPnet's legacy shift (LegacyShift in libtorch/rel_shift.h), for whole utterances. Their
// table has one row per frame.
struct LegacyRows {
  std::shared_ptr<const PositionTable> table;  // of all layers
  size_t layer;
  int64_t table_length;

  // The distance of row 0 for T frames: the rows count down to 0 in table_length rows, or in T.
  int64_t FirstDistance(int64_t num_frames) const;

  // Contains the T distances from FirstDistance(T) down.
  std::shared_ptr<const PositionTable::Range> Covering(int64_t num_frames) const;
};

// Where there is a rotation, q_i and k_j are rotated before:
// score(i, j) = ((s q_i + u) . k_j + (s q_i + v) . p_ij) t, before mask and softmax.
// libtorch/tensor_attention.h evaluates it on tensors, cpu/kernels/attention/attention_kernel.h on
// rows of float32.
struct PositionScheme {
  Tensor content_bias;       // u (H, d_k), undefined: 0
  Tensor position_bias;      // v (H, d_k), undefined: 0
  double query_scale = 1.0;  // s
  double score_scale = 1.0;  // t
  // Of d_k: the angles of a frame, by which elements m and m + d_k / 2 of each head are rotated.
  std::optional<Sinusoids> rotation;
  // Frames whose queries, keys and values are one row, of group_size * d values. The frames of the
  // scores above are groups then, and d_k is that of the row's heads.
  int64_t group_size = 1;
  // Where there is one, a query attends to these keys only.
  std::optional<AttentionWindow> window;
  // Where p_ij comes from; std::monostate: p is 0.
  std::variant<std::monostate, RowsByDistance, RowsByKeyFrame, LearnedRows, LegacyRows> rows;
};

// score(i, j) = q_i . k_j / sqrt(d_k): attention without positions.
PositionScheme ContentOnly(const AttentionSizes& sizes);

// The position scheme of a model.
struct PositionModules {
  std::vector<PositionScheme> layers;
  // Rows of absolute frames that are added to the subsampled and scaled frames before layer 0.
  std::optional<Sinusoids> input;
};

// Takes the scheme's tensors of all layers at once, because layers may share some.
// `attention_names`: prefix of each layer's attention tensors ("encoder.encoders.0.self_attn").
// `pack`: null, or packs the projections of positions by distance. Throws std::runtime_error as
// Weights does.
PositionModules BuildPositions(const PositionConfig& config, Weights* weights,
                               const std::vector<std::string>& attention_names,
                               const AttentionSizes& sizes, const PositionPacker& pack = nullptr);

// Adds the rows of `modules.input`; null where there are none.
std::unique_ptr<const InputPositionModule> MakeInputPositions(const PositionModules& modules);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_POSITION_SCHEME_H_
