// What one layer remembers of one stream, and how a step tells a layer where each stream's rows
// lie. Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_LAYER_STATE_H_
#define RUNNEL_ENCODER_LAYER_STATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encoder/frame_buffer.h"

namespace runnel {

// A plain value. Together keys and values are the checkpoints' att_cache.
struct LayerState {
  FrameBuffer keys;       // rows of d: the last M encoder frames, fewer at the start
  FrameBuffer values;     // likewise
  FrameBuffer cnn_cache;  // rows of d: the gated frames that the next convolution reads again
  // Rows of d that the position scheme keeps beside the keys, for the same frames and perhaps a few
  // after them; empty for most schemes.
  FrameBuffer key_positions;

  // Bytes held by all buffers.
  int64_t num_bytes() const {
    return keys.num_bytes() + values.num_bytes() + cnn_cache.num_bytes() +
           key_positions.num_bytes();
  }

  // For the snapshot of a stream (runtime/state_fields.h). The positions of keys depend on their
  // frames alone: the scheme makes those anew that are missing.
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    FrameBuffer::VisitState(self.keys, fields);
    FrameBuffer::VisitState(self.values, fields);
    FrameBuffer::VisitState(self.cnn_cache, fields);
  }
};

// Which frames of one pass a query sees: chunkstart(i) - left_context <= j < chunkend(i).
struct ChunkMask {
  int64_t chunk_size;    // encoder frames, at least 1
  int64_t left_context;  // encoder frames, -1: all
};

// One stream's rows in the stacked (total_rows, dim) matrix of a step. State: what a layer
// remembers of the stream, in one way of computing it.
template <class State>
struct Segment {
  int64_t first_row;
  int64_t num_rows;               // at least 1
  int64_t offset;                 // encoder frame of the first row, from the stream's start
  State* state;                   // advanced by the layer
  int64_t left_context;           // frames of keys and values to keep, -1: all
  std::optional<ChunkMask> mask;  // only when a whole utterance is computed under a chunk mask
  bool ends = false;              // the stream's last chunk: no other will read its keys
};

using LayerSegment = Segment<LayerState>;
using LayerBatch = std::vector<LayerSegment>;

}  // namespace runnel

#endif  // RUNNEL_ENCODER_LAYER_STATE_H_
