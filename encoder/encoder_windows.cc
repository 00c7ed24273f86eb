// Chunks that are computed as windows: left context, chunk and right context as an utterance of
// their own, whose other rows are dropped. The rows are those of the whole utterance over the same
// frames, to the bit. The feature statistics of `utterance` normalisation are the window's.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "encoder/encoder.h"

namespace runnel {

int64_t Encoder::WindowBegin(const EncoderState& state, int64_t left_context) const {
  return std::max(state.context_begin, state.offset - left_context) * geometry_.rate();
}

void Encoder::DropWindowFrames(int64_t left_context, EncoderState* state) const {
  const auto num_kept = static_cast<int64_t>(state->window.size()) / config_.input_dim;
  const int64_t first_kept = state->num_frames - num_kept;
  const int64_t count =
      std::clamp<int64_t>(WindowBegin(*state, left_context) - first_kept, 0, num_kept);
  state->window.erase(
      state->window.begin(),
      state->window.begin() + static_cast<std::ptrdiff_t>(count * config_.input_dim));
}

std::optional<Encoder::Prepared> Encoder::PrepareWindow(
    const EncoderSegment& segment, std::deque<EncoderState>* utterances) const {
  EncoderState* state = segment.state;
  const EncoderChunk& chunk = segment.chunk;
  const float* const ahead = segment.features + chunk.num_frames * config_.input_dim;
  state->window.insert(state->window.end(), segment.features, ahead);
  normalizer_.Observe(segment.features, chunk.num_frames, config_.input_dim, &state->statistics);
  state->num_frames += chunk.num_frames;
  state->ended = chunk.last;
  DropWindowFrames(segment.left_context, state);
  const int64_t count = CompleteFrames(*state) - state->offset;
  if (count <= 0) return std::nullopt;
  std::vector<float> frames = state->window;
  frames.insert(frames.end(), ahead, ahead + *chunk.num_ahead * config_.input_dim);
  EncoderState* utterance = &utterances->emplace_back(InitialState());
  const auto num_frames = static_cast<int64_t>(frames.size()) / config_.input_dim;
  const Segment prepared = *Prepare({utterance, frames.data(), {num_frames, true}, -1});
  const int64_t first =
      state->offset - WindowBegin(*state, segment.left_context) / geometry_.rate();
  return Prepared{prepared, &utterance->layers, {first, first + count}};
}

std::string Encoder::WindowInconsistency(const EncoderState& state, int64_t left_context,
                                         bool must_be_finite) const {
  const int64_t kept = std::max<int64_t>(0, state.num_frames - WindowBegin(state, left_context));
  if (static_cast<int64_t>(state.window.size()) != kept * config_.input_dim) {
    return "number of feature values of the window is " + std::to_string(state.window.size()) +
           "; expected " + std::to_string(kept * config_.input_dim);
  }
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (must_be_finite && !std::all_of(state.window.begin(), state.window.end(), is_finite)) {
    return "feature frames of the window are not finite";
  }
  const std::vector<LayerState> initial = conformer_.InitialStates();
  for (size_t i = 0; i < initial.size(); ++i) {
    const LayerState& layer = state.layers[i];
    if (layer.keys.size() > 0 || layer.values.size() > 0 ||
        (layer.key_biases && layer.key_biases->size() > 0) ||
        layer.cnn_cache.size() != initial[i].cnn_cache.size() ||
        (layer.merge_cache && layer.merge_cache->size() != initial[i].merge_cache->size())) {
      return "cached frames in a stream of windows, which have none";
    }
  }
  return "";
}

}  // namespace runnel
