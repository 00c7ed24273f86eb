#include "tests/support/playback.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace runnel::testing {

Playback::Playback(const Encoder& runs_on, at::Tensor all_features, int64_t chunk,
                   int64_t left_context)
    : encoder(&runs_on),
      features(std::move(all_features)),
      chunk_size(chunk),
      state(runs_on.InitialState(left_context)) {}

std::optional<EncoderChunk> Playback::NextChunk() const {
  return encoder->NextChunk(state, chunk_size, features.size(0) - position, true);
}

at::Tensor Playback::Output() const {
  if (outputs.empty()) return at::empty({0, encoder->config().model_dim}, encoder->dtype());
  return at::cat(outputs, 0);
}

void StepTogether(const Encoder& encoder, const std::vector<Playback*>& runs) {
  std::vector<EncoderSegment> segments;
  for (Playback* run : runs) {
    const EncoderChunk chunk = run->NextChunk().value();
    segments.push_back({&run->state,
                        run->features.data_ptr<float>() + run->position * run->features.size(1),
                        chunk});
    run->position += chunk.num_frames;
  }
  const EncoderOutput output = encoder.Step(segments);
  int64_t row = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i]->outputs.push_back(output.rows.narrow(0, row, output.num_rows[i]).clone());
    row += output.num_rows[i];
  }
  if (row != output.rows.size(0)) throw std::logic_error("a step gave rows that belong to nobody");
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

at::Tensor RunAlone(const Encoder& encoder, const at::Tensor& features, int64_t chunk_size,
                    int64_t left_context) {
  Playback run(encoder, features, chunk_size, left_context);
  while (!run.Done()) StepTogether(encoder, {&run});
  return run.Output();
}

std::vector<int64_t> ChunkSizes() { return {1, 2, 3, 4, 8, 16, kFull}; }

std::vector<int64_t> LeftContexts(int64_t chunk_size) {
  if (chunk_size == kFull) return {0, 1, 7, -1};
  return {0, 1, chunk_size, 3 * chunk_size + 1, -1};
}

}  // namespace runnel::testing
