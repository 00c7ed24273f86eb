// A stream that is fed known features one chunk at a time, for equivalence tests.
#ifndef RUNNEL_TESTS_SUPPORT_PLAYBACK_H_
#define RUNNEL_TESTS_SUPPORT_PLAYBACK_H_

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/rows.h"

namespace runnel::testing {

constexpr int64_t kFull = -1;

// What was fed and what came out. A copy continues on its own. The encoder must outlive it.
struct Playback {
  // features: (T, input_dim) float32. Sizes as in Encoder::NextChunk and EncoderSegment.
  Playback(const Encoder& runs_on, Matrix all_features, int64_t chunk, int64_t left);

  std::optional<EncoderChunk> NextChunk() const;
  bool Done() const { return !NextChunk().has_value(); }

  const Encoder* encoder;
  Matrix features;
  int64_t chunk_size;
  int64_t left_context;
  EncoderState state;
  int64_t position = 0;  // feature frames fed
  Matrix output;         // (T', d) so far
};

// `num_rows` rows from `first_row` on, as one chunk whose first encoder frame is `offset`.
inline Segment OneChunk(int64_t first_row, int64_t num_rows, int64_t offset, LayerState* state,
                        int64_t left_context) {
  Segment segment;
  segment.frames = {offset, offset + num_rows};
  segment.first_row = first_row;
  segment.chunk_size = num_rows;
  segment.left_context = left_context;
  segment.state = state;
  return segment;
}

// Advances all of them, none done, by one chunk as one batch.
void StepTogether(const Encoder& encoder, const std::vector<Playback*>& runs);

// Plays all to their ends, in batches of any of those that have audio left.
void PlayInRandomBatches(const Encoder& encoder, std::vector<Playback>* runs,
                         std::mt19937_64* random);

// One stream from start to end.
Matrix RunAlone(const Encoder& encoder, const Matrix& features, int64_t chunk_size,
                int64_t left_context);

// Encoder::ForwardUnderMask and Encoder::Normalize of a matrix. features: (T, input_dim) float32.
Matrix ForwardUnderMask(const Encoder& encoder, const Matrix& features, int64_t chunk_size,
                        int64_t left_context);
Matrix Normalize(const Encoder& encoder, const Matrix& features, int64_t chunk_size);

// The grid of the property tests: C in {1, 2, 3, 4, 8, 16, full}, M in {0, 1, C, 3 C + 1, all}.
std::vector<int64_t> ChunkSizes();
std::vector<int64_t> LeftContexts(int64_t chunk_size);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_PLAYBACK_H_
