// A stream that is fed known features one chunk at a time, for equivalence tests.
#ifndef RUNNEL_TESTS_SUPPORT_PLAYBACK_H_
#define RUNNEL_TESTS_SUPPORT_PLAYBACK_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "encoder/encoder.h"

namespace runnel::testing {

constexpr int64_t kFull = -1;

// What was fed and what came out. A copy continues on its own. The encoder must outlive it.
struct Playback {
  // features: (T, input_dim) float32. Sizes as in Encoder::NextChunk and InitialState.
  Playback(const Encoder& runs_on, at::Tensor all_features, int64_t chunk, int64_t left_context);

  std::optional<EncoderChunk> NextChunk() const;
  bool Done() const { return !NextChunk().has_value(); }
  // (T', d) so far.
  at::Tensor Output() const;

  const Encoder* encoder;
  at::Tensor features;
  int64_t chunk_size;
  EncoderState state;
  int64_t position = 0;  // feature frames fed
  std::vector<at::Tensor> outputs;
};

// Advances all of them, none done, by one chunk as one batch.
void StepTogether(const Encoder& encoder, const std::vector<Playback*>& runs);

// Plays all to their ends, in batches of any of those that have audio left.
void PlayInRandomBatches(const Encoder& encoder, std::vector<Playback>* runs,
                         std::mt19937_64* random);

// One stream from start to end.
at::Tensor RunAlone(const Encoder& encoder, const at::Tensor& features, int64_t chunk_size,
                    int64_t left_context);

// The grid of the property tests: C in {1, 2, 3, 4, 8, 16, full}, M in {0, 1, C, 3 C + 1, all}.
std::vector<int64_t> ChunkSizes();
std::vector<int64_t> LeftContexts(int64_t chunk_size);

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_PLAYBACK_H_
