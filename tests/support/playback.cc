#include "tests/support/playback.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace runnel::testing {

Playback::Playback(const Encoder& runs_on, Matrix all_features, int64_t chunk, int64_t left)
    : encoder(&runs_on),
      features(std::move(all_features)),
      chunk_size(chunk),
      left_context(left),
      state(runs_on.InitialState()),
      output(runs_on.data_type(), runs_on.config().model_dim) {}

std::optional<EncoderChunk> Playback::NextChunk() const {
  return encoder->NextChunk(state, chunk_size, features.count() - position, true);
}

void StepTogether(const Encoder& encoder, const std::vector<Playback*>& runs) {
  std::vector<EncoderSegment> segments;
  for (Playback* run : runs) {
    const EncoderChunk chunk = run->NextChunk().value();
    segments.push_back(
        {&run->state, run->features.rows().float32(run->position), chunk, run->left_context});
    run->position += chunk.num_frames;
  }
  const EncoderOutput output = encoder.Step(segments);
  int64_t row = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const ConstRows rows = output.rows.rows().Part(row, output.num_rows[i]);
    row += rows.count;
    if (rows.count == 0) continue;
    std::memcpy(runs[i]->output.AddRows(rows.count).data, rows.data,
                static_cast<size_t>(rows.count * rows.dim * BytesOf(rows.type)));
  }
  if (row != output.rows.count()) throw std::logic_error("a step gave rows that belong to nobody");
}

void PlayInRandomBatches(const Encoder& encoder, std::vector<Playback>* runs,
                         std::mt19937_64* random) {
  for (;;) {
    std::vector<Playback*> waiting;
    for (Playback& run : *runs) {
      if (!run.Done()) waiting.push_back(&run);
    }
    if (waiting.empty()) return;
    std::shuffle(waiting.begin(), waiting.end(), *random);
    waiting.resize(1 + (*random)() % waiting.size());
    StepTogether(encoder, waiting);
  }
}

Matrix RunAlone(const Encoder& encoder, const Matrix& features, int64_t chunk_size,
                int64_t left_context) {
  Playback run(encoder, features, chunk_size, left_context);
  while (!run.Done()) StepTogether(encoder, {&run});
  return std::move(run.output);
}

Matrix ForwardUnderMask(const Encoder& encoder, const Matrix& features, int64_t chunk_size,
                        int64_t left_context) {
  return encoder.ForwardUnderMask(features.rows().float32(), features.count(), chunk_size,
                                  left_context);
}

Matrix Normalize(const Encoder& encoder, const Matrix& features, int64_t chunk_size) {
  return encoder.Normalize(features.rows().float32(), features.count(), chunk_size);
}

std::vector<int64_t> ChunkSizes() { return {1, 2, 3, 4, 8, 16, kFull}; }

std::vector<int64_t> LeftContexts(int64_t chunk_size) {
  if (chunk_size == kFull) return {0, 1, 7, -1};
  return {0, 1, chunk_size, 3 * chunk_size + 1, -1};
}

}  // namespace runnel::testing
