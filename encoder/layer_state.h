// The state of one stream in one layer, and a stream's part of a step.
#ifndef RUNNEL_ENCODER_LAYER_STATE_H_
#define RUNNEL_ENCODER_LAYER_STATE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encoder/row_ring.h"
#include "encoder/rows.h"
#include "encoder/subsampling_geometry.h"

namespace runnel {

// A value. Keys, values and the convolution cache hold rows of d, in the data type that the backend
// chooses; keys and values of groups of G frames, rows of G d. Keys and values together are the
// att_cache of WeNet's checkpoints.
struct LayerState {
  RowRing keys;    // of the last left_context encoder frames, fewer at the start
  RowRing values;  // of the same frames
  // Frames that the next depthwise convolution reads again: gated ones of a Conformer, gates of a
  // Branchformer's cgMLP, then of `cgmlp_dim` / 2 values.
  RowRing cnn_cache;
  // What is added to the scores of each key: one float32 value per head. Of the frames of `keys`,
  // for schemes that need it.
  std::optional<RowRing> key_biases = std::nullopt;
  // Frames of both branches, rows of 2 d, that the next convolution of an E-Branchformer's merging
  // reads again.
  std::optional<RowRing> merge_cache = std::nullopt;

  // Drops the oldest `count` frames.
  void DropKeys(int64_t count) {
    keys.DropFirst(count);
    values.DropFirst(count);
    if (key_biases) key_biases->DropFirst(count);
  }

  // Bytes allocated by all rings.
  int64_t num_bytes() const {
    return keys.num_bytes() + values.num_bytes() + cnn_cache.num_bytes() +
           (key_biases ? key_biases->num_bytes() : 0) +
           (merge_cache ? merge_cache->num_bytes() : 0);
  }

  // For the snapshot of a stream (runtime/snapshot/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    RowRing::VisitState(self.keys, fields);
    RowRing::VisitState(self.values, fields);
    RowRing::VisitState(self.cnn_cache, fields);
    if (self.key_biases) RowRing::VisitState(*self.key_biases, fields);
    if (self.merge_cache) RowRing::VisitState(*self.merge_cache, fields);
  }
};

// One stream's part of a step: encoder frames to compute, which are consecutive rows of a matrix
// that holds the rows of all segments.
struct Segment {
  FrameRange frames;       // of the layer, counted from the stream's start; at least one
  int64_t frame_step = 1;  // frames of the subsampling per frame: more after a layer with a stride
  int64_t first_row = 0;   // of frames.begin

  // Normalised feature frames, from frame `first_feature` of the stream on: all that `frames` read.
  ConstRows features;
  int64_t first_feature = 0;
  // Feature frames of the whole stream, known once it has ended. No other segment of the stream
  // follows then.
  std::optional<int64_t> num_features;

  // The rows are chunks of `chunk_size` frames: one chunk when the stream is computed chunk by
  // chunk, several when a whole utterance is computed under a chunk mask. A frame attends to its
  // chunk and to `left_context` frames before the chunk (-1: all), as far as the state holds them.
  // In layers before a stride, all these are the frames of that layer.
  int64_t chunk_size = 0;
  int64_t left_context = -1;

  // Rows at the end that leave nothing in the state: a later segment computes them again.
  int64_t num_ahead = 0;

  LayerState* state = nullptr;  // of the layer that computes; advanced by it

  int64_t num_rows() const { return frames.end - frames.begin; }
  int64_t num_kept() const { return num_rows() - num_ahead; }  // by the state
  bool ends() const { return num_features.has_value(); }
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_LAYER_STATE_H_
