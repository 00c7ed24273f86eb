#include "encoder/encoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <cmath>
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

}  // namespace

int64_t EncoderState::num_bytes() const {
  int64_t bytes =
      features.num_bytes() +
      static_cast<int64_t>((statistics.mean.size() + statistics.squares.size()) * sizeof(double));
  std::visit(
      [&bytes](const auto& states) {
        for (const auto& layer : states) bytes += layer.num_bytes();
      },
      layers);
  return bytes;
}

Encoder::Encoder(const EncoderConfig& config, Weights* weights, const EncoderOptions& options)
    : config_(config),
      options_(weights->options()),
      normalizer_(weights, config),
      geometry_(config.subsampling),
      core_(options.backend == EncoderOptions::Backend::kFast
                ? MakeFastCore(config, weights, options.fast)
                : MakeLibTorchCore(config, weights)) {}

EncoderState Encoder::InitialState(int64_t left_context) const {
  CheckSize("left_context", left_context, 0);
  return {FrameBuffer(config_.input_dim, options_), {}, core_->InitialLayers(), left_context};
}

int64_t Encoder::FramesForChunk(const EncoderState& state, int64_t chunk_size) const {
  return (state.offset + chunk_size - 1) * subsampling().rate() + subsampling().right_context() +
         1 - state.num_frames;
}

std::optional<EncoderChunk> Encoder::NextChunk(const EncoderState& state, int64_t chunk_size,
                                               int64_t num_available, bool ended) const {
  if (chunk_size != -1) {
    const int64_t needed = FramesForChunk(state, chunk_size);
    if (num_available >= needed) return EncoderChunk{needed, false};
  }
  if (!ended || state.ended) return std::nullopt;
  const int64_t total = subsampling().NumEncoderFrames(state.num_frames + num_available);
  if (total <= state.offset) return std::nullopt;
  return EncoderChunk{num_available, true};
}

void Encoder::CheckSegments(const std::vector<EncoderSegment>& segments) const {
  std::set<const EncoderState*> distinct;
  for (const EncoderSegment& segment : segments) {
    if (!distinct.insert(segment.state).second) {
      throw std::invalid_argument("two segments of a step share one state, expected one each");
    }
    if (segment.state->ended) {
      throw std::invalid_argument("a segment follows its stream's last chunk");
    }
    const char* reason = config_.NeedsWholeUtterance();
    if (reason != nullptr && !(segment.chunk.last && segment.state->num_frames == 0)) {
      throw std::invalid_argument(
          std::string("this model needs the whole utterance in one chunk: ") + reason);
    }
  }
}

void Encoder::AddFrames(EncoderState* state, const float* features, int64_t num_frames) const {
  state->features.Append(normalizer_.Forward(features, num_frames, &state->statistics));
  state->num_frames += num_frames;
}

int64_t Encoder::NextRead(const EncoderState& state) const {
  return std::max<int64_t>(0, state.offset * geometry_.rate() - geometry_.left_overlap());
}

// Without its end, a stream gives the encoder frames that read no frame to come.
int64_t Encoder::CompleteFrames(const EncoderState& state) const {
  return state.ended ? geometry_.NumEncoderFrames(state.num_frames)
                     : (state.num_frames - 1 - geometry_.right_context() + geometry_.rate()) /
                           geometry_.rate();
}

const char* Encoder::Inconsistency(const EncoderState& state, bool must_be_finite) const {
  constexpr int64_t kMaxFrames = int64_t{1} << 48;  // more than any stream has
  if (state.num_frames < 0 || state.num_frames > kMaxFrames) return "feature frames of the encoder";
  if (state.offset != std::max<int64_t>(0, CompleteFrames(state))) return "encoder frames";
  if (state.features.size() != std::max<int64_t>(0, state.num_frames - NextRead(state))) {
    return "feature frames kept";
  }
  const FeatureStatistics& statistics = state.statistics;
  const bool counts = config_.normalization == Normalization::kUtterance ||
                      config_.normalization == Normalization::kRunning;
  const int64_t counted = counts ? state.num_frames : 0;
  const size_t num_bins = counted > 0 ? static_cast<size_t>(config_.input_dim) : 0;
  if (statistics.num_frames != counted || statistics.mean.size() != num_bins ||
      statistics.squares.size() != num_bins) {
    return "statistics of the features";
  }
  for (size_t bin = 0; bin < num_bins; ++bin) {
    const double squares = statistics.squares[bin];
    if (!std::isfinite(statistics.mean[bin]) || !std::isfinite(squares) || squares < 0) {
      return "statistics of the features that are none";
    }
  }
  if (must_be_finite && !state.features.AllFinite()) return "feature frames that are not finite";
  if (config_.NeedsWholeUtterance() != nullptr && state.num_frames > 0 && !state.ended) {
    return "a part of an utterance";
  }

  const LayerStates initial = core_->InitialLayers();
  // Unlimited keys of a stream's last chunk need not be there: no other reads them.
  const bool all_keys = state.left_context < 0;
  const int64_t num_keys = all_keys ? state.offset : std::min(state.offset, state.left_context);
  return std::visit(
      [&](const auto& layers) -> const char* {
        const auto& first = std::get<std::decay_t<decltype(layers)>>(initial);
        for (size_t i = 0; i < layers.size(); ++i) {
          const auto& layer = layers[i];
          if (layer.keys.size() != layer.values.size() || layer.keys.size() > num_keys ||
              (layer.keys.size() < num_keys && !(all_keys && state.ended))) {
            return "keys and values kept";
          }
          if (layer.cnn_cache.size() != first[i].cnn_cache.size()) return "gated frames kept";
          if (must_be_finite && !(layer.keys.AllFinite() && layer.values.AllFinite() &&
                                  layer.cnn_cache.AllFinite())) {
            return "keys, values or gated frames that are not finite";
          }
        }
        return nullptr;
      },
      state.layers);
}

std::optional<CoreSegment> Encoder::Prepare(const EncoderSegment& segment) const {
  EncoderState* state = segment.state;
  AddFrames(state, segment.features, segment.chunk.num_frames);
  state->ended = segment.chunk.last;
  const int64_t end = CompleteFrames(*state);
  if (end <= state->offset) return std::nullopt;
  return CoreSegment{
      state->features.Rows(), state->num_frames - state->features.size(),
      {state->offset, end},   state->ended ? std::make_optional(state->num_frames) : std::nullopt,
      state->left_context,    std::nullopt,
      &state->layers};
}

void Encoder::DropFrames(EncoderState* state) const {
  state->features.KeepLast(std::max<int64_t>(0, state->num_frames - NextRead(*state)));
}

EncoderOutput Encoder::Step(const std::vector<EncoderSegment>& segments,
                            const LayerObserver& observer) const {
  const c10::InferenceMode guard;
  CheckSegments(segments);
  EncoderOutput output;
  std::vector<CoreSegment> ready;
  std::vector<EncoderState*> states;
  for (const EncoderSegment& segment : segments) {
    std::optional<CoreSegment> prepared = Prepare(segment);
    output.num_rows.push_back(prepared ? prepared->num_rows() : 0);
    if (!prepared) continue;
    ready.push_back(*std::move(prepared));
    states.push_back(segment.state);
  }
  if (ready.empty()) {
    output.rows = at::empty({0, config_.model_dim}, options_);
    return output;
  }
  output.rows = core_->Forward(ready, observer);
  for (size_t s = 0; s < states.size(); ++s) {
    states[s]->offset = ready[s].wanted.end;
    DropFrames(states[s]);
  }
  return output;
}

EncoderState Encoder::StateAfter(const at::Tensor& features, int64_t chunk_size) const {
  EncoderState state = InitialState(-1);
  const at::Tensor frames = features.to(at::kFloat).contiguous();
  const auto* next = frames.data_ptr<float>();
  int64_t left = frames.size(0);
  // Frames reach the normaliser as they do chunk by chunk.
  for (int64_t chunk = 1; config_.normalization == Normalization::kRunning && chunk_size != -1;
       ++chunk) {
    const int64_t num_frames = FramesForChunk(state, chunk * chunk_size);
    if (num_frames > left) break;
    AddFrames(&state, next, num_frames);
    next += num_frames * config_.input_dim;
    left -= num_frames;
  }
  AddFrames(&state, next, left);
  return state;
}

at::Tensor Encoder::Normalize(const at::Tensor& features, int64_t chunk_size) const {
  const c10::InferenceMode guard;
  return StateAfter(features, chunk_size).features.Rows();
}

at::Tensor Encoder::ForwardUnderMask(const at::Tensor& features, int64_t chunk_size,
                                     int64_t left_context, const LayerObserver& observer) const {
  const c10::InferenceMode guard;
  CheckSize("chunk_size", chunk_size, 1);
  CheckSize("left_context", left_context, 0);
  const bool whole =
      chunk_size == -1 || chunk_size >= subsampling().NumEncoderFrames(features.size(0));
  if (!whole && config_.NeedsWholeUtterance() != nullptr) {
    throw std::invalid_argument("this model needs the whole utterance in one chunk: " +
                                std::string(config_.NeedsWholeUtterance()));
  }
  EncoderState state = StateAfter(features, chunk_size);
  std::optional<CoreSegment> segment = Prepare({&state, nullptr, {0, true}});
  if (!segment) return at::empty({0, config_.model_dim}, options_);
  segment->left_context = -1;
  segment->mask = ChunkMask{chunk_size == -1 ? segment->num_rows() : chunk_size, left_context};
  return core_->Forward({*segment}, observer);
}

}  // namespace runnel
