#include "encoder/encoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

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
  int64_t bytes = features.num_bytes();
  for (const LayerState& layer : layers) {
    bytes += layer.keys.num_bytes() + layer.values.num_bytes() + layer.cnn_cache.num_bytes() +
             layer.key_positions.num_bytes();
  }
  return bytes;
}

Encoder::Encoder(const EncoderConfig& config, Weights* weights)
    : config_(config),
      embed_(weights, "encoder.embed", config),
      after_norm_(weights, "encoder.after_norm", config.model_dim, config.layer_norm_eps) {
  if (config.global_cmvn) {
    cmvn_mean_ = weights->Take("encoder.global_cmvn.mean", {config.input_dim});
    cmvn_istd_ = weights->Take("encoder.global_cmvn.istd", {config.input_dim});
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
  EncoderState state{FrameBuffer(config_.input_dim, at::kFloat), {}, left_context, 0};
  for (const ConformerLayer& layer : layers_) state.layers.push_back(layer.InitialState());
  return state;
}

int64_t Encoder::FramesForChunk(const EncoderState& state, int64_t chunk_size) const {
  return (chunk_size - 1) * subsampling_rate() + right_context() + 1 - state.features.size();
}

int64_t Encoder::NumEncoderFrames(const EncoderState& state, int64_t num_frames) const {
  return Conv2dSubsampling4::NumEncoderFrames(state.features.size() + num_frames);
}

at::Tensor Encoder::Subsample(const EncoderSegment& segment) const {
  FrameBuffer& buffer = segment.state->features;
  // from_blob takes a pointer to non-const; the rows are only read.
  buffer.Append(at::from_blob(const_cast<float*>(segment.features),
                              {segment.num_frames, config_.input_dim}, at::kFloat));
  at::Tensor frames = buffer.Rows();
  const int64_t num_rows = Conv2dSubsampling4::NumEncoderFrames(frames.size(0));
  if (num_rows == 0) return at::empty({0, config_.model_dim}, dtype());
  frames = frames.to(dtype());
  if (cmvn_mean_.defined()) frames = (frames - cmvn_mean_) * cmvn_istd_;
  const at::Tensor rows = LayerInput(embed_.Forward(frames), segment.state->offset);
  buffer.KeepLast(buffer.size() - num_rows * subsampling_rate());
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
  x = after_norm_.Forward(x);
  if (observer) observer("after_norm", x);
  return x;
}

EncoderOutput Encoder::Step(const std::vector<EncoderSegment>& segments,
                            const LayerObserver& observer) const {
  const c10::InferenceMode guard;
  std::set<const EncoderState*> distinct;
  for (const EncoderSegment& segment : segments) {
    if (!distinct.insert(segment.state).second) {
      throw std::invalid_argument("two segments of a step share one state, expected one each");
    }
  }
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
    output.rows = at::empty({0, config_.model_dim}, dtype());
    return output;
  }
  at::Tensor x = parts.size() == 1 ? std::move(parts[0]) : at::cat(parts, 0);
  output.rows = ForwardLayers(std::move(x), states, batch, observer);
  for (size_t s = 0; s < states.size(); ++s) states[s]->offset += batch[s].num_rows;
  return output;
}

at::Tensor Encoder::ForwardUnderMask(const at::Tensor& features, int64_t chunk_size,
                                     int64_t left_context, const LayerObserver& observer) const {
  const c10::InferenceMode guard;
  CheckSize("chunk_size", chunk_size, 1);
  CheckSize("left_context", left_context, 0);
  EncoderState state = InitialState(-1);
  const at::Tensor frames = features.to(at::kFloat).contiguous();
  at::Tensor x = Subsample({&state, frames.data_ptr<float>(), frames.size(0)});
  const int64_t num_rows = x.size(0);
  if (num_rows == 0) return x;
  const ChunkMask mask{chunk_size == -1 ? num_rows : chunk_size, left_context};
  return ForwardLayers(std::move(x), {&state}, {{0, num_rows, 0, nullptr, -1, mask}}, observer);
}

}  // namespace runnel
