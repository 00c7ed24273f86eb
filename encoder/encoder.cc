#include "encoder/encoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <stdexcept>
#include <utility>

namespace runnel {
namespace {

void CheckSize(const std::string& name, int64_t value, int64_t min) {
  if (value >= min || value == -1) return;
  throw std::invalid_argument(name + " is " + std::to_string(value) + ", expected at least " +
                              std::to_string(min) + " or -1");
}

std::string Differ(const char* what, int64_t found, const std::string& expected) {
  return std::string(what) + " is " + std::to_string(found) + "; expected " + expected;
}

std::string Differ(const char* what, int64_t found, int64_t expected) {
  return Differ(what, found, std::to_string(expected));
}

bool FitsFrames(const FeatureStatistics& statistics, int64_t num_frames, int64_t num_bins) {
  const auto size = static_cast<size_t>(num_frames > 0 ? num_bins : 0);
  return statistics.num_frames == num_frames && statistics.mean.size() == size &&
         statistics.squares.size() == size;
}

// The rows of a step that are handed out.
Matrix GivenRows(const std::vector<Conformer::Input>& inputs, const std::vector<FrameRange>& given,
                 ConstRows computed) {
  Matrix rows(computed.type, computed.dim);
  int64_t first = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t count = given[i].end - given[i].begin;
    const ConstRows part = computed.Part(first + given[i].begin, count);
    std::memcpy(rows.AddRows(count).data, part.data,
                static_cast<size_t>(count * part.dim * BytesOf(part.type)));
    first += inputs[i].segment.num_rows();
  }
  return rows;
}

bool IsFinite(const FeatureStatistics& statistics) {
  const auto is_finite = [](double value) { return std::isfinite(value); };
  const auto is_sum_of_squares = [](double value) { return std::isfinite(value) && value >= 0; };
  return std::all_of(statistics.mean.begin(), statistics.mean.end(), is_finite) &&
         std::all_of(statistics.squares.begin(), statistics.squares.end(), is_sum_of_squares);
}

}  // namespace

int64_t EncoderState::num_bytes() const {
  int64_t bytes =
      features.num_bytes() + static_cast<int64_t>(window.capacity() * sizeof(float)) +
      static_cast<int64_t>((statistics.mean.size() + statistics.squares.size()) * sizeof(double));
  for (const LayerState& layer : layers) bytes += layer.num_bytes();
  return bytes;
}

Encoder::Encoder(const EncoderConfig& config, Weights* weights, const EncoderBackend& backend)
    : config_(config),
      normalizer_(config, weights),
      geometry_(config.Geometry()),
      chunk_multiple_(config.ChunkMultiple()),
      conformer_(config, weights, backend),
      runner_(backend.MakeStepRunner()) {}

EncoderState Encoder::InitialState() const {
  return {Matrix(data_type(), config_.input_dim), {}, {}, conformer_.InitialStates()};
}

int64_t Encoder::FramesForChunk(const EncoderState& state, int64_t chunk_size) const {
  return (state.offset + chunk_size - 1) * subsampling().rate() + subsampling().right_context() +
         1 - state.num_frames;
}

std::optional<EncoderChunk> Encoder::NextChunk(const EncoderState& state, int64_t chunk_size,
                                               int64_t num_available, bool ended,
                                               int64_t right_context) const {
  const bool is_window = right_context != kNoRightContext;
  if (chunk_size != -1) {
    const int64_t needed = FramesForChunk(state, chunk_size);
    const int64_t wanted = is_window ? right_context * subsampling().rate() : 0;
    if (num_available >= needed && (ended || num_available - needed >= wanted)) {
      EncoderChunk chunk{needed, false};
      if (is_window) chunk.num_ahead = std::min(num_available - needed, wanted);
      return chunk;
    }
  }
  if (!ended || state.ended) return std::nullopt;
  const int64_t total = subsampling().NumEncoderFrames(state.num_frames + num_available);
  if (total <= state.offset) return std::nullopt;
  EncoderChunk chunk{num_available, true};
  if (is_window) chunk.num_ahead = 0;
  return chunk;
}

void Encoder::CheckSegments(const std::vector<EncoderSegment>& segments) const {
  std::set<const EncoderState*> distinct;
  for (const EncoderSegment& segment : segments) {
    const bool is_window = segment.chunk.num_ahead.has_value();
    CheckSize("left_context", segment.left_context, 0);
    if (segment.cached_window && !is_window) {
      throw std::invalid_argument("a cached window is no window, expected num_ahead");
    }
    if (is_window && segment.left_context == -1) {
      throw std::invalid_argument("left_context is -1, expected at least 0 for a window");
    }
    if (!distinct.insert(segment.state).second) {
      throw std::invalid_argument("two segments of a step share one state, expected one each");
    }
    if (segment.state->ended) {
      throw std::invalid_argument("a segment follows the last chunk of its stream");
    }
    const char* reason = config_.NeedsWholeUtterance();
    const bool is_whole = segment.chunk.last && segment.state->num_frames == 0;
    if (reason != nullptr && !is_whole && !is_window) {
      throw std::invalid_argument(
          std::string("this model needs the whole utterance in one chunk: ") + reason);
    }
    if (is_window || is_whole) continue;
    CheckMultiple("left_context", segment.left_context);
    if (!segment.chunk.last) {
      CheckMultiple("chunk_size", NumComplete(*segment.state, segment.chunk.num_frames));
    }
  }
}

void Encoder::CheckMultiple(const char* name, int64_t value) const {
  if (value == -1 || value % chunk_multiple_ == 0) return;
  throw std::invalid_argument(
      Differ(name, value, "a multiple of " + std::to_string(chunk_multiple_)));
}

void Encoder::AddFrames(EncoderState* state, const float* features, int64_t num_frames) const {
  normalizer_.Normalize(features, &state->statistics, state->features.AddRows(num_frames));
  state->num_frames += num_frames;
}

int64_t Encoder::FirstRead(int64_t offset) const {
  return std::max<int64_t>(0, offset * geometry_.rate() - geometry_.left_overlap());
}

// Before its end, a stream gives the encoder frames that read no later feature frame.
int64_t Encoder::CompleteFrames(const EncoderState& state) const {
  return state.ended ? geometry_.NumEncoderFrames(state.num_frames)
                     : CompleteFrames(state.num_frames);
}

int64_t Encoder::CompleteFrames(int64_t num_frames) const {
  return (num_frames - 1 - geometry_.right_context() + geometry_.rate()) / geometry_.rate();
}

int64_t Encoder::NumComplete(const EncoderState& state, int64_t num_available) const {
  return std::max<int64_t>(0, CompleteFrames(state.num_frames + num_available) - state.offset);
}

void Encoder::SkipTo(int64_t offset, EncoderState* state) const {
  const int64_t num_frames = FirstRead(offset);
  if (offset < state->offset || num_frames < state->num_frames) {
    throw std::invalid_argument("a stream cannot skip frames that it has received");
  }
  state->num_skipped += num_frames - state->num_frames;
  state->num_frames = num_frames;
  state->offset = offset;
  state->features.DropFirst(state->features.count());
  state->window.clear();
  ForgetContext(state);
}

std::vector<float> Encoder::MeanFrame(const EncoderState& state) const {
  return normalizer_.MeanFrame(state.statistics, config_.input_dim);
}

void Encoder::ForgetContext(EncoderState* state) const {
  state->layers = conformer_.InitialStates();
  state->context_begin = state->offset;
  DropWindowFrames(0, state);
}

std::string Encoder::Inconsistency(const EncoderState& state, int64_t left_context,
                                   int64_t right_context, bool cached_windows,
                                   bool must_be_finite) const {
  constexpr int64_t kMaxFrames = int64_t{1} << 48;  // more than any stream has
  if (state.num_frames < 0 || state.num_frames > kMaxFrames) {
    return Differ("number of feature frames", state.num_frames,
                  "0 to " + std::to_string(kMaxFrames));
  }
  if (state.num_skipped < 0 || state.num_skipped > state.num_frames) {
    return Differ("number of skipped feature frames", state.num_skipped,
                  "0 to " + std::to_string(state.num_frames));
  }
  // Until the first chunk after skipped frames, there are no frames of this encoder frame.
  const bool has_just_skipped = state.num_skipped > 0 && state.offset >= 0 &&
                                state.offset <= kMaxFrames &&
                                state.num_frames == FirstRead(state.offset);
  const int64_t offset =
      has_just_skipped ? state.offset : std::max<int64_t>(0, CompleteFrames(state));
  if (state.offset != offset) return Differ("number of encoder frames", state.offset, offset);
  if (state.context_begin < 0 || state.context_begin > offset) {
    return Differ("first encoder frame of the context", state.context_begin,
                  "0 to " + std::to_string(offset));
  }
  const bool is_window = right_context != kNoRightContext;
  const int64_t kept =
      is_window ? 0 : std::max<int64_t>(0, state.num_frames - FirstRead(state.offset));
  if (state.features.count() != kept) {
    return Differ("number of feature frames kept", state.features.count(), kept);
  }
  const bool counts = config_.normalization == Normalization::kUtterance ||
                      config_.normalization == Normalization::kRunning;
  const int64_t counted = counts ? state.num_frames - state.num_skipped : 0;
  if (!FitsFrames(state.statistics, counted, config_.input_dim)) {
    return "feature statistics do not fit the number of feature frames";
  }
  if (!IsFinite(state.statistics)) return "feature statistics are not finite";
  if (must_be_finite && !AllFinite(state.features.rows())) return "feature frames are not finite";
  if (is_window) {
    const int64_t num_before = WindowContext(left_context, cached_windows);
    std::string problem = WindowInconsistency(state, num_before, must_be_finite);
    if (!problem.empty()) return problem;
    return cached_windows ? LayersInconsistency(state, left_context, must_be_finite)
                          : NoCachesInconsistency(state);
  }
  if (!state.window.empty()) return "feature frames of a window in a stream without right context";
  if (config_.NeedsWholeUtterance() != nullptr && state.num_frames > 0 && !state.ended) {
    return "part of an utterance, but this model needs the whole utterance in one chunk";
  }
  return LayersInconsistency(state, left_context, must_be_finite);
}

std::string Encoder::LayersInconsistency(const EncoderState& state, int64_t left_context,
                                         bool must_be_finite) const {
  // The last chunk of a stream with unlimited left context need not leave keys: none reads them.
  const bool unlimited = left_context < 0;
  const int64_t most_keys = state.offset - state.context_begin;
  const int64_t num_keys = unlimited ? most_keys : std::min(most_keys, left_context);
  // With strides, an encoder frame at the end may stand for fewer frames of a layer.
  const bool may_be_fewer = state.ended && (unlimited || !config_.strides.empty());
  const std::vector<LayerState> initial = conformer_.InitialStates();
  for (size_t i = 0; i < state.layers.size(); ++i) {
    const LayerState& layer = state.layers[i];
    const int64_t expected = conformer_.NumKeys(i, num_keys);
    if (layer.keys.size() > expected || (layer.keys.size() < expected && !may_be_fewer)) {
      return Differ("number of keys", layer.keys.size(), expected);
    }
    if (layer.values.size() != layer.keys.size()) {
      return Differ("number of values", layer.values.size(), layer.keys.size());
    }
    if (layer.key_biases && layer.key_biases->size() != layer.keys.size()) {
      return Differ("number of key biases", layer.key_biases->size(), layer.keys.size());
    }
    if (layer.cnn_cache.size() != initial[i].cnn_cache.size()) {
      return Differ("number of frames in the convolution cache", layer.cnn_cache.size(),
                    initial[i].cnn_cache.size());
    }
    if (layer.merge_cache && layer.merge_cache->size() != initial[i].merge_cache->size()) {
      return Differ("number of frames in the cache of the merging", layer.merge_cache->size(),
                    initial[i].merge_cache->size());
    }
    if (must_be_finite &&
        !(layer.keys.AllFinite() && layer.values.AllFinite() && layer.cnn_cache.AllFinite() &&
          (!layer.key_biases || layer.key_biases->AllFinite()) &&
          (!layer.merge_cache || layer.merge_cache->AllFinite()))) {
      return "keys, values, key biases or convolution caches are not finite";
    }
  }
  return "";
}

std::optional<Segment> Encoder::Prepare(const EncoderSegment& segment) const {
  EncoderState* state = segment.state;
  AddFrames(state, segment.features, segment.chunk.num_frames);
  state->ended = segment.chunk.last;
  const int64_t end = CompleteFrames(*state);
  if (end <= state->offset) return std::nullopt;
  Segment prepared;
  prepared.frames = {state->offset, end};
  prepared.features = std::as_const(state->features).rows();
  prepared.first_feature = state->num_frames - state->features.count();
  if (state->ended) prepared.num_features = state->num_frames;
  prepared.chunk_size = prepared.num_rows();
  prepared.left_context = segment.left_context;
  return prepared;
}

std::optional<Encoder::Prepared> Encoder::PrepareChunk(const EncoderSegment& segment) const {
  const std::optional<Segment> prepared = Prepare(segment);
  if (!prepared) return std::nullopt;
  return Prepared{*prepared, &segment.state->layers, {0, prepared->num_rows()}};
}

void Encoder::DropFrames(EncoderState* state) const {
  const int64_t kept = std::max<int64_t>(0, state->num_frames - FirstRead(state->offset));
  state->features.DropFirst(std::max<int64_t>(0, state->features.count() - kept));
}

EncoderOutput Encoder::Step(const std::vector<EncoderSegment>& segments,
                            const LayerObserver& observer) const {
  CheckSegments(segments);
  EncoderOutput output{Matrix(data_type(), config_.model_dim), {}};
  std::vector<Conformer::Input> inputs;
  std::vector<FrameRange> given;  // per input, the rows that the step hands out
  std::vector<const EncoderSegment*> computed;
  std::deque<EncoderState> utterances;  // of windows
  for (const EncoderSegment& segment : segments) {
    const std::optional<Prepared> prepared = segment.cached_window ? PrepareCachedWindow(segment)
                                             : segment.chunk.num_ahead
                                                 ? PrepareWindow(segment, &utterances)
                                                 : PrepareChunk(segment);
    output.num_rows.push_back(prepared ? prepared->given.end - prepared->given.begin : 0);
    if (!prepared) continue;
    inputs.push_back({prepared->segment, prepared->layers});
    given.push_back(prepared->given);
    computed.push_back(&segment);
  }
  if (inputs.empty()) return output;
  runner_->Run([&] { output.rows = conformer_.Forward(inputs, observer); });
  const bool has_windows = std::any_of(computed.begin(), computed.end(), [](const auto* segment) {
    return segment->chunk.num_ahead.has_value();
  });
  if (has_windows) output.rows = GivenRows(inputs, given, output.rows.rows());
  for (size_t i = 0; i < computed.size(); ++i) {
    EncoderState* state = computed[i]->state;
    state->offset += given[i].end - given[i].begin;
    if (computed[i]->chunk.num_ahead) {
      state->features.DropFirst(state->features.count());
      DropWindowFrames(WindowContext(computed[i]->left_context, computed[i]->cached_window), state);
    } else {
      DropFrames(state);
    }
  }
  return output;
}

EncoderState Encoder::StateAfter(const float* features, int64_t num_frames,
                                 int64_t chunk_size) const {
  EncoderState state = InitialState();
  // The normalizer receives the frames chunk by chunk, as in Step.
  for (int64_t chunk = 1; config_.normalization == Normalization::kRunning && chunk_size != -1;
       ++chunk) {
    const int64_t count = FramesForChunk(state, chunk * chunk_size);
    if (state.num_frames + count > num_frames) break;
    AddFrames(&state, features + state.num_frames * config_.input_dim, count);
  }
  AddFrames(&state, features + state.num_frames * config_.input_dim, num_frames - state.num_frames);
  return state;
}

Matrix Encoder::Normalize(const float* features, int64_t num_frames, int64_t chunk_size) const {
  return StateAfter(features, num_frames, chunk_size).features;
}

Matrix Encoder::ForwardUnderMask(const float* features, int64_t num_frames, int64_t chunk_size,
                                 int64_t left_context, const LayerObserver& observer) const {
  CheckSize("chunk_size", chunk_size, 1);
  CheckSize("left_context", left_context, 0);
  const bool whole = chunk_size == -1 || chunk_size >= subsampling().NumEncoderFrames(num_frames);
  if (!whole && config_.NeedsWholeUtterance() != nullptr) {
    throw std::invalid_argument("this model needs the whole utterance in one chunk: " +
                                std::string(config_.NeedsWholeUtterance()));
  }
  if (!whole) {
    CheckMultiple("chunk_size", chunk_size);
    CheckMultiple("left_context", left_context);
  }
  EncoderState state = StateAfter(features, num_frames, chunk_size);
  std::optional<Segment> segment = Prepare({&state, nullptr, {0, true}, left_context});
  if (!segment) return Matrix(data_type(), config_.model_dim);
  if (chunk_size != -1) segment->chunk_size = chunk_size;
  return conformer_.Forward({{*segment, &state.layers}}, observer);
}

}  // namespace runnel
