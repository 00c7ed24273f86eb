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
};

using FastSegment = Segment<FastLayerState>;
using FastBatch = std::vector<FastSegment>;

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_FAST_LAYER_STATE_H_
