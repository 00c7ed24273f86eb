#include "encoder/encoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
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
  for (const LayerState& layer : layers) {
    bytes += layer.keys.num_bytes() + layer.values.num_bytes() + layer.cnn_cache.num_bytes() +
             layer.key_positions.num_bytes();
  }
  return bytes;
}

Encoder::Encoder(const EncoderConfig& config, Weights* weights)
    : config_(config),
      dtype_(weights->dtype()),
      normalizer_(weights, config),
      embed_(weights, "encoder.embed", config) {
  if (config.after_norm) {
    after_norm_.emplace(weights, "encoder.after_norm", config.model_dim, config.layer_norm_eps);
  }
  std::vector<std::string> layer_names, attention_names;
  for (int i = 0; i < config.num_layers; ++i) {
    layer_names.push_back("encoder.encoders." + std::to_string(i));
    attention_names.push_back(layer_names.back() + ".self_attn");
  }
  positions_ = config.position.build(weights, attention_names, config.attention_sizes());
  layers_.reserve(layer_names.size());
  for (size_t i = 0; i < layer_names.size(); ++i) {
    layers_.emplace_back(weights, layer_names[i], config, positions_.layers[i]);
  }
}

EncoderState Encoder::InitialState(int64_t left_context) const {
  CheckSize("left_context", left_context, 0);
  EncoderState state{FrameBuffer(config_.input_dim, dtype_), {}, {}, left_context};
  for (const ConformerLayer& layer : layers_) state.layers.push_back(layer.InitialState());
  return state;
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

at::Tensor Encoder::Subsample(const EncoderSegment& segment) const {
  EncoderState* state = segment.state;
  AddFrames(state, segment.features, segment.chunk.num_frames);
  state->ended = segment.chunk.last;
  const SubsamplingGeometry& geometry = subsampling();
  const int64_t first_frame = state->num_frames - state->features.size();
  // Without its end, a stream gives the encoder frames that read no frame to come.
  const int64_t end =
      state->ended
          ? geometry.NumEncoderFrames(state->num_frames)
          : (state->num_frames - 1 - geometry.right_context() + geometry.rate()) / geometry.rate();
  if (end <= state->offset) return at::empty({0, config_.model_dim}, dtype_);
  at::Tensor rows =
      embed_.Forward(state->features.Rows(), first_frame, {state->offset, end},
                     state->ended ? std::make_optional(state->num_frames) : std::nullopt);
  rows = LayerInput(std::move(rows), state->offset);
  const int64_t next_read = std::max<int64_t>(0, end * geometry.rate() - geometry.left_overlap());
  state->features.KeepLast(std::max<int64_t>(0, state->num_frames - next_read));
  return rows;
}

at::Tensor Encoder::LayerInput(at::Tensor rows, int64_t offset) const {
  if (config_.scale_input) rows = rows * std::sqrt(static_cast<double>(config_.model_dim));
  if (positions_.input) rows = rows + positions_.input(offset, rows.size(0)).to(dtype());
  return rows;
}

at::Tensor Encoder::ForwardLayers(at::Tensor x, const std::vector<EncoderState*>& states,
                                  LayerBatch batch, const LayerObserver& observer) const {
  if (observer) observer("subsampling", x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (size_t s = 0; s < batch.size(); ++s) batch[s].state = &states[s]->layers[i];
    x = layers_[i].Forward(std::move(x), batch);
    if (observer) observer("layer " + std::to_string(i), x);
  }
  if (after_norm_) {
    x = after_norm_->Forward(x);
    if (observer) observer("after_norm", x);
  }
  return x;
}

EncoderOutput Encoder::Step(const std::vector<EncoderSegment>& segments,
                            const LayerObserver& observer) const {
  const c10::InferenceMode guard;
  CheckSegments(segments);
  EncoderOutput output;
  std::vector<at::Tensor> parts;
  std::vector<EncoderState*> states;
  LayerBatch batch;
  int64_t total_rows = 0;
  for (const EncoderSegment& segment : segments) {
    at::Tensor rows = Subsample(segment);
    const int64_t num_rows = rows.size(0);
    output.num_rows.push_back(num_rows);
    if (num_rows == 0) continue;
    batch.push_back({total_rows, num_rows, segment.state->offset, nullptr,
                     segment.state->left_context, std::nullopt});
    states.push_back(segment.state);
    parts.push_back(std::move(rows));
    total_rows += num_rows;
  }
  if (parts.empty()) {
    output.rows = at::empty({0, config_.model_dim}, dtype_);
    return output;
  }
  at::Tensor x = parts.size() == 1 ? std::move(parts[0]) : at::cat(parts, 0);
  output.rows = ForwardLayers(std::move(x), states, batch, observer);
  for (size_t s = 0; s < states.size(); ++s) states[s]->offset += batch[s].num_rows;
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
  at::Tensor x = Subsample({&state, nullptr, {0, true}});
  const int64_t num_rows = x.size(0);
  if (num_rows == 0) return x;
  const ChunkMask mask{chunk_size == -1 ? num_rows : chunk_size, left_context};
  return ForwardLayers(std::move(x), {&state}, {{0, num_rows, 0, nullptr, -1, mask}}, observer);
}

}  // namespace runnel
