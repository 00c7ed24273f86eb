// The chunk mask of a whole utterance that is computed in one pass.
#ifndef RUNNEL_ENCODER_CHUNK_MASK_H_
#define RUNNEL_ENCODER_CHUNK_MASK_H_

#include <cstdint>

namespace runnel {

// Which frames of one pass a query sees: chunkstart(i) - left_context <= j < chunkend(i).
struct ChunkMask {
  int64_t chunk_size;    // encoder frames, at least 1
  int64_t left_context;  // encoder frames, -1: all
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CHUNK_MASK_H_
