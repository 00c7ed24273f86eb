// Chunks that are computed as windows: left context, chunk and right context as an utterance of
// their own, whose other rows are dropped. The rows are those of the whole utterance over the same
// frames, to the bit. The feature statistics of `utterance` normalisation are the window's.
//
// Cached windows compute the left context once, with the features and the right context of the
// windows in which it was the chunk.
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
namespace {

// The statistics of less audio change so much that a cached window computes its left context anew:
// 2.56 s of usual feature frames (docs/accuracy.md).
constexpr int64_t kUnsettledFrames = 256;

}  // namespace

int64_t Encoder::WindowBegin(const EncoderState& state, int64_t num_before) const {
  return std::max(state.context_begin, state.offset - num_before) * geometry_.rate();
}

int64_t Encoder::WindowContext(int64_t left_context, bool cached) const {
  const int64_t rate = geometry_.rate();
  const int64_t read = (geometry_.left_overlap() + rate - 1) / rate;
  if (!cached) return left_context;
  return config_.normalization == Normalization::kUtterance ? std::max(left_context, read) : read;
}

void Encoder::DropWindowFrames(int64_t num_before, EncoderState* state) const {
  const auto num_kept = static_cast<int64_t>(state->window.size()) / config_.input_dim;
  const int64_t first_kept = state->num_frames - num_kept;
  const int64_t count =
      std::clamp<int64_t>(WindowBegin(*state, num_before) - first_kept, 0, num_kept);
  state->window.erase(
      state->window.begin(),
      state->window.begin() + static_cast<std::ptrdiff_t>(count * config_.input_dim));
}

std::vector<float> Encoder::TakeWindow(const EncoderSegment& segment) const {
  EncoderState* state = segment.state;
  const EncoderChunk& chunk = segment.chunk;
  const float* const ahead = segment.features + chunk.num_frames * config_.input_dim;
  state->window.insert(state->window.end(), segment.features, ahead);
  normalizer_.Observe(segment.features, chunk.num_frames, config_.input_dim, &state->statistics);
  state->num_frames += chunk.num_frames;
  state->ended = chunk.last;
  DropWindowFrames(WindowContext(segment.left_context, segment.cached_window), state);
  if (CompleteFrames(*state) <= state->offset) return {};
  std::vector<float> frames = state->window;
  frames.insert(frames.end(), ahead, ahead + *chunk.num_ahead * config_.input_dim);
  return frames;
}

std::optional<Encoder::Prepared> Encoder::PrepareWindow(
    const EncoderSegment& segment, std::deque<EncoderState>* utterances) const {
  const EncoderState& state = *segment.state;
  const std::vector<float> frames = TakeWindow(segment);
  if (frames.empty()) return std::nullopt;
  EncoderState* utterance = &utterances->emplace_back(InitialState());
  const auto num_frames = static_cast<int64_t>(frames.size()) / config_.input_dim;
  const Segment prepared = *Prepare({utterance, frames.data(), {num_frames, true}, -1});
  const int64_t first = state.offset - WindowBegin(state, segment.left_context) / geometry_.rate();
  return Prepared{
      prepared, &utterance->layers, {first, first + CompleteFrames(state) - state.offset}};
}

std::optional<Encoder::Prepared> Encoder::PrepareCachedWindow(const EncoderSegment& segment) const {
  EncoderState* state = segment.state;
  const std::vector<float> frames = TakeWindow(segment);
  if (frames.empty()) return std::nullopt;
  const auto num_frames = static_cast<int64_t>(frames.size()) / config_.input_dim;
  FeatureStatistics statistics;
  normalizer_.Observe(frames.data(), num_frames, config_.input_dim, &statistics);
  // From here on all frames are counted from the context's first one.
  const int64_t num_before = state->offset - state->context_begin;
  const int64_t end_feature =
      state->num_frames + *segment.chunk.num_ahead - state->context_begin * geometry_.rate();
  const int64_t num_unsettled =
      config_.normalization == Normalization::kUtterance ? kUnsettledFrames / geometry_.rate() : 0;
  const bool is_computed_anew = num_before < std::min(segment.left_context, num_unsettled);
  if (is_computed_anew) state->layers = conformer_.InitialStates();
  const int64_t first = is_computed_anew ? 0 : num_before;
  const int64_t end = num_before + CompleteFrames(*state) - state->offset;  // of the chunk

  Segment prepared;
  prepared.frames = {first, geometry_.NumEncoderFrames(end_feature)};
  prepared.first_feature = FirstRead(first);
  prepared.num_features = end_feature;
  const int64_t num_read = end_feature - prepared.first_feature;
  normalizer_.Apply(frames.data() + (num_frames - num_read) * config_.input_dim, statistics,
                    state->features.AddRows(num_read));
  prepared.features = std::as_const(state->features).rows();
  prepared.chunk_size = prepared.num_rows();
  prepared.left_context = segment.left_context;
  prepared.num_ahead = prepared.frames.end - end;
  return Prepared{prepared, &state->layers, {num_before - first, end - first}};
}

std::string Encoder::WindowInconsistency(const EncoderState& state, int64_t num_before,
                                         bool must_be_finite) const {
  const int64_t kept = std::max<int64_t>(0, state.num_frames - WindowBegin(state, num_before));
  if (static_cast<int64_t>(state.window.size()) != kept * config_.input_dim) {
    return "number of feature values of the window is " + std::to_string(state.window.size()) +
           "; expected " + std::to_string(kept * config_.input_dim);
  }
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (must_be_finite && !std::all_of(state.window.begin(), state.window.end(), is_finite)) {
    return "feature frames of the window are not finite";
  }
  return "";
}

std::string Encoder::NoCachesInconsistency(const EncoderState& state) const {
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
