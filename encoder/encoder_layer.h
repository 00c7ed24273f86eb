// The interface of the encoder's layers.
#ifndef RUNNEL_ENCODER_ENCODER_LAYER_H_
#define RUNNEL_ENCODER_ENCODER_LAYER_H_

#include <vector>

#include "encoder/layer_state.h"
#include "encoder/rows.h"

namespace runnel {

// The frames of the segments of a step, between two layers.
struct LayerFrames {
  std::vector<Segment> segments;
  Matrix rows;  // (total_rows, d)
};

// Immutable: Forward may run in several threads at once, on different streams.
class EncoderLayer {
 public:
  virtual ~EncoderLayer() = default;

  // Replaces the rows, and with a stride also the segments. Advances the state of each segment.
  virtual void Forward(LayerFrames* frames) const = 0;

  // The state of a stream that has no frame yet.
  virtual LayerState InitialState() const = 0;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ENCODER_LAYER_H_
