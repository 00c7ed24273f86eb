// The network of the encoder: subsampling, a speaker kernel in some models, Conformer or
// Branchformer layers and the last norm.
#ifndef RUNNEL_ENCODER_CONFORMER_H_
#define RUNNEL_ENCODER_CONFORMER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "encoder/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_layer.h"
#include "encoder/layer_state.h"
#include "encoder/rows.h"

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

  // A segment, and the states of its stream, one per layer.
  struct Input {
    Segment segment;
    std::vector<LayerState>* states;
  };

  // The encoder frames of all segments, in their order: (total_rows, model_dim). Sets
  // segment.first_row and segment.state. At least one input; no two of one stream.
  Matrix Forward(const std::vector<Input>& inputs, const LayerObserver& observer) const;

 private:
  DataType data_type_;
  int64_t model_dim_;
  double input_scale_;
  std::unique_ptr<const SubsamplingModule> subsampling_;
  std::unique_ptr<const InputPositionModule> input_positions_;  // null where there is none
  std::unique_ptr<const ResidualModule> speaker_kernel_;        // null where there is none
  std::vector<std::unique_ptr<const EncoderLayer>> layers_;
  std::unique_ptr<const NormModule> after_norm_;  // null where there is none
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CONFORMER_H_
