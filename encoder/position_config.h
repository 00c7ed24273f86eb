// The position scheme of a model, as its file states it (`encoder.position`): plain data.
// models/README.md specifies the fields. encoder/position/ computes the schemes.
#ifndef RUNNEL_ENCODER_POSITION_CONFIG_H_
#define RUNNEL_ENCODER_POSITION_CONFIG_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace runnel {

class JsonSection;

// Fields of the schemes whose scores are (q + u) k + (q + v) p (Dai et al. 2019, section 3.3).
struct RelativeQueryConfig {
  bool linear_pos_bias = false;
  // true: ((q + u) k + (q + v) p) / sqrt(d_k); false: q / sqrt(d_k) takes the place of q (icefall).
  bool scale_after_bias = true;
};

// Which sinusoids the row of distance r = query frame - key frame is computed from.
enum class TableOrder {
  kDescending,  // PE(r) (Transformer-XL, ESPnet, NeMo)
  kAscending    // PE(-r) (icefall)
};

// The frames that a frame attends to, besides itself; it moves with the frame.
struct AttentionWindow {
  int64_t left;   // encoder frames before it, -1: all
  int64_t right;  // encoder frames after it, -1: all
};

// "none": attention depends on the content only.
struct NoPosition {};

// "absolute": sinusoids of the frame number are added to the input of layer 0.
struct AbsolutePosition {};

// "chunk_rpe", "bounded_rpe" and "windowed_rpe": relative positions with the shift.
struct ChunkRpe {
  RelativeQueryConfig query;
  TableOrder order = TableOrder::kDescending;
  // Distances are clamped to -max_distance .. max_distance. The `radius` of "bounded_rpe" is
  // max_distance + 1.
  int64_t max_distance = std::numeric_limits<int64_t>::max();
  std::optional<AttentionWindow> window = std::nullopt;  // of "windowed_rpe"
};

// "relative_key_value": learned vectors per distance, added to keys and perhaps to values.
struct RelativeKeyValue {
  int64_t max_distance = 0;  // distances are clamped to -max_distance .. max_distance
  bool values = true;        // vectors for the values too
  bool shared = false;       // one table for all layers
};

// "unshifted": each key is scored by its absolute frame (WeNet's rel_pos).
struct UnshiftedPosition {
  RelativeQueryConfig query;
};

// "grouped_unshifted": the same, of groups of frames.
struct GroupedUnshifted {
  RelativeQueryConfig query;
  std::vector<int64_t> group_sizes;  // frames of a group, per layer; 1: no groups
};

// "legacy_rel_pos": ESPnet's former shift, defined for whole utterances only.
struct LegacyRelPos {
  RelativeQueryConfig query;
  int64_t table_length = 0;
};

// "rotary": queries and keys are rotated by angles of their frames (Su et al. 2021).
struct RotaryPosition {};

// Every scheme. position_config.cc lists their names in the model file.
using PositionConfig =
    std::variant<NoPosition, AbsolutePosition, ChunkRpe, RelativeKeyValue, UnshiftedPosition,
                 GroupedUnshifted, LegacyRelPos, RotaryPosition>;

// Why a scheme is defined for a whole utterance in one chunk only, for messages; nullptr for
// others.
const char* NeedsWholeUtterance(const PositionConfig& config);

// Reads `scheme` and the fields that belong to it; no other field may be present. Throws
// std::runtime_error that names the field, its value and the expected one.
PositionConfig ParsePosition(JsonSection* section);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_CONFIG_H_
