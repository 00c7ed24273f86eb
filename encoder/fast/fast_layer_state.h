// What one layer remembers of one stream where the kernels compute it.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_FAST_FAST_LAYER_STATE_H_
#define RUNNEL_ENCODER_FAST_FAST_LAYER_STATE_H_

#include <cstdint>
#include <vector>

#include "encoder/fast/row_ring.h"
#include "encoder/frame_buffer.h"
#include "encoder/layer_state.h"

namespace runnel {

// A plain value, with the parts of LayerState.
struct FastLayerState {
  RowRing keys;
  RowRing values;
  RowRing cnn_cache;
  FrameBuffer key_positions;

  int64_t num_bytes() const {
    return keys.num_bytes() + values.num_bytes() + cnn_cache.num_bytes() +
           key_positions.num_bytes();
  }

  // For the snapshot of a stream (runtime/state_fields.h). The positions of keys depend on their
  // frames alone: the scheme makes those anew that are missing.
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    RowRing::VisitState(self.keys, fields);
    RowRing::VisitState(self.values, fields);
    RowRing::VisitState(self.cnn_cache, fields);
  }
};

using FastSegment = Segment<FastLayerState>;
using FastBatch = std::vector<FastSegment>;

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_FAST_LAYER_STATE_H_
