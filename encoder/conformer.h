// The network of the encoder: subsampling, a speaker kernel in some models, Conformer or
// Branchformer layers and the last norm.
#ifndef RUNNEL_ENCODER_CONFORMER_H_
#define RUNNEL_ENCODER_CONFORMER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "encoder/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_layer.h"
#include "encoder/layer_state.h"
#include "encoder/rows.h"
#include "encoder/subsampling_geometry.h"

namespace runnel {

class Weights;

// Called with "subsampling", "layer 0", ..., "after_norm" and the rows at that point, for comparing
// two computations of the same frames layer by layer. The rows are valid during the call.
using LayerObserver = std::function<void(const std::string& name, ConstRows rows)>;

// Immutable: Forward may run in several threads at once, on different streams.
class Conformer {
 public:
  // Takes the tensors of encoder_weights.h but for those of the normalisation and the CTC head.
  Conformer(const EncoderConfig& config, Weights* weights, const EncoderBackend& backend);

  // Of all rows.
  DataType data_type() const { return data_type_; }

  // Per layer, the state of a stream that has no frame yet.
  std::vector<LayerState> InitialStates() const;

  // The most frames that the ring of a layer's keys holds for `num_frames` encoder frames of a
  // stream.
  int64_t NumKeys(size_t layer, int64_t num_frames) const;

  // A segment, and the states of its stream, one per layer.
  struct Input {
    Segment segment;
    std::vector<LayerState>* states;
  };

  // The encoder frames of all segments, in their order: (total_rows, model_dim). Sets
  // segment.first_row and segment.state. At least one input; no two of one stream.
  Matrix Forward(const std::vector<Input>& inputs, const LayerObserver& observer) const;

 private:
  // The segments of a step, in frames of the subsampling.
  std::vector<Segment> SubsampledSegments(const std::vector<Input>& inputs) const;

  // Of a layer: its frames per encoder frame, and those that its attention joins to one.
  struct LayerRate {
    int64_t frames_per_encoder_frame;
    int64_t group_size;
  };

  DataType data_type_;
  int64_t model_dim_;
  double input_scale_;
  SubsamplingGeometry geometry_;  // of the subsampling alone
  std::unique_ptr<const SubsamplingModule> subsampling_;
  std::unique_ptr<const InputPositionModule> input_positions_;  // null where there is none
  std::unique_ptr<const ResidualModule> speaker_kernel_;        // null where there is none
  std::vector<std::unique_ptr<const EncoderLayer>> layers_;
  std::vector<LayerRate> rates_;                  // of each layer
  std::unique_ptr<const NormModule> after_norm_;  // null where there is none
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CONFORMER_H_
