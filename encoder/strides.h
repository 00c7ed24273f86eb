// Layers with a stride: their outputs have a lower frame rate (Burchi and Vielzeuf 2021).
#ifndef RUNNEL_ENCODER_STRIDES_H_
#define RUNNEL_ENCODER_STRIDES_H_

#include <cstdint>
#include <vector>

#include "encoder/layer_state.h"
#include "encoder/rows.h"

namespace runnel {

// num_frames / stride, rounded up: each group of `stride` frames makes one, also a last group that
// is not full.
inline int64_t NumStrided(int64_t num_frames, int64_t stride) {
  return (num_frames + stride - 1) / stride;
}

// The segments at the lower rate, each from its first frame on, with the sizes of their chunks and
// left context, which `stride` divides.
std::vector<Segment> Strided(std::vector<Segment> segments, int64_t stride);

// y = the mean of each group of `stride` rows of x, segment by segment; of a last group that is not
// full, the mean of its rows. y: the rows of Strided(segments, stride).
void MeanOfGroups(const std::vector<Segment>& segments, int64_t stride, ConstRows x, Rows y);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_STRIDES_H_
