#include "tests/support/playback.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "encoder/libtorch/tensor_rows.h"

namespace runnel::testing {

using libtorch::ScalarTypeOf;
using libtorch::View;

Playback::Playback(const Encoder& runs_on, at::Tensor all_features, int64_t chunk, int64_t left)
    : encoder(&runs_on),
      features(std::move(all_features)),
      chunk_size(chunk),
      left_context(left),
      state(runs_on.InitialState()) {}

std::optional<EncoderChunk> Playback::NextChunk() const {
  return encoder->NextChunk(state, chunk_size, features.size(0) - position, true);
}

at::Tensor Playback::Output() const {
  if (outputs.empty())
    return at::empty({0, encoder->config().model_dim}, ScalarTypeOf(encoder->data_type()));
  return at::cat(outputs, 0);
}

void StepTogether(const Encoder& encoder, const std::vector<Playback*>& runs) {
  std::vector<EncoderSegment> segments;
  for (Playback* run : runs) {
    const EncoderChunk chunk = run->NextChunk().value();
    segments.push_back({&run->state,
                        run->features.data_ptr<float>() + run->position * run->features.size(1),
                        chunk, run->left_context});
    run->position += chunk.num_frames;
  }
  const EncoderOutput output = encoder.Step(segments);
  int64_t row = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i]->outputs.push_back(View(output.rows.rows().Part(row, output.num_rows[i])).clone());
    row += output.num_rows[i];
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

at::Tensor RunAlone(const Encoder& encoder, const at::Tensor& features, int64_t chunk_size,
                    int64_t left_context) {
  Playback run(encoder, features, chunk_size, left_context);
  while (!run.Done()) StepTogether(encoder, {&run});
  return run.Output();
}

at::Tensor ForwardUnderMask(const Encoder& encoder, const at::Tensor& features, int64_t chunk_size,
                            int64_t left_context) {
  const at::Tensor frames = features.to(at::kFloat).contiguous();
  const Matrix rows =
      encoder.ForwardUnderMask(frames.data_ptr<float>(), frames.size(0), chunk_size, left_context);
  return View(rows.rows()).clone();
}

at::Tensor Normalize(const Encoder& encoder, const at::Tensor& features, int64_t chunk_size) {
  const at::Tensor frames = features.to(at::kFloat).contiguous();
  const Matrix rows = encoder.Normalize(frames.data_ptr<float>(), frames.size(0), chunk_size);
  return View(rows.rows()).clone();
}

std::vector<int64_t> ChunkSizes() { return {1, 2, 3, 4, 8, 16, kFull}; }

std::vector<int64_t> LeftContexts(int64_t chunk_size) {
  if (chunk_size == kFull) return {0, 1, 7, -1};
  return {0, 1, chunk_size, 3 * chunk_size + 1, -1};
}

}  // namespace runnel::testing
