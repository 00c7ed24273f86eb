#include "encoder/conformer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "encoder/branchformer_layer.h"
#include "encoder/conformer_layer.h"
#include "encoder/encoder_weights.h"
#include "encoder/strides.h"

namespace runnel {
namespace {

template <class T>
void ScaleValues(T scale, int64_t count, T* values) {
  std::transform(values, values + count, values, [scale](T value) { return value * scale; });
}

void Scale(double scale, Rows x) {
  if (x.type == DataType::kFloat64) {
    ScaleValues(scale, x.count * x.dim, x.float64());
  } else {
    ScaleValues(static_cast<float>(scale), x.count * x.dim, x.float32());
  }
}

std::unique_ptr<const EncoderLayer> MakeLayer(const EncoderConfig& config, int index,
                                              Weights* weights, const EncoderBackend& backend) {
  if (config.type == EncoderType::kBranchformer) {
    return std::make_unique<BranchformerLayer>(
        backend, BindBranchformerLayer(config, index, weights), index);
  }
  return std::make_unique<ConformerLayer>(backend, BindConformerLayer(config, index, weights),
                                          index, config.norm_first);
}

}  // namespace

Conformer::Conformer(const EncoderConfig& config, Weights* weights, const EncoderBackend& backend)
    : data_type_(backend.data_type()),
      model_dim_(config.model_dim),
      input_scale_(config.scale_input ? std::sqrt(static_cast<double>(config.model_dim)) : 1.0),
      geometry_(config.subsampling),
      subsampling_(backend.MakeSubsampling(BindSubsampling(config, weights))),
      input_positions_(backend.MakeInputPositions()) {
  if (config.type == EncoderType::kMultitalkerConformer) {
    speaker_kernel_ = backend.MakeFeedForward(BindSpeakerKernel(config, weights), nullptr);
  }
  for (int i = 0; i < config.num_layers; ++i) {
    layers_.push_back(MakeLayer(config, i, weights, backend));
    rates_.push_back({config.frames_per_encoder_frame(i), config.group_size(i)});
  }
  if (config.after_norm) after_norm_ = backend.MakeNorm(BindAfterNorm(config, weights));
}

std::vector<LayerState> Conformer::InitialStates() const {
  std::vector<LayerState> states;
  for (const auto& layer : layers_) states.push_back(layer->InitialState());
  return states;
}

int64_t Conformer::NumKeys(size_t layer, int64_t num_frames) const {
  const LayerRate& rate = rates_[layer];
  return NumStrided(num_frames * rate.frames_per_encoder_frame, rate.group_size);
}

std::vector<Segment> Conformer::SubsampledSegments(const std::vector<Input>& inputs) const {
  const int64_t rate = rates_.front().frames_per_encoder_frame;
  std::vector<Segment> segments;
  int64_t first_row = 0;
  for (const Input& input : inputs) {
    Segment segment = input.segment;
    segment.first_row = first_row;
    segment.frames = {segment.frames.begin * rate, segment.frames.end * rate};
    if (segment.ends()) {
      segment.frames.end =
          std::min(segment.frames.end, geometry_.NumEncoderFrames(*segment.num_features));
    }
    segment.chunk_size *= rate;
    if (segment.left_context >= 0) segment.left_context *= rate;
    first_row += segment.num_rows();
    segments.push_back(segment);
  }
  return segments;
}

Matrix Conformer::Forward(const std::vector<Input>& inputs, const LayerObserver& observer) const {
  LayerFrames frames{SubsampledSegments(inputs), Matrix(data_type_, model_dim_)};
  const auto observe = [&](const std::string& name) {
    if (observer) observer(name, std::as_const(frames.rows).rows());
  };
  const Segment& last = frames.segments.back();
  const Rows x = frames.rows.AddRows(last.first_row + last.num_rows());
  subsampling_->Forward(frames.segments, x);
  if (input_scale_ != 1.0) Scale(input_scale_, x);
  if (input_positions_) {
    for (const Segment& segment : frames.segments) {
      input_positions_->AddTo(segment.frames.begin, x.Part(segment.first_row, segment.num_rows()));
    }
  }
  observe("subsampling");
  if (speaker_kernel_) speaker_kernel_->Add(frames.segments, x, x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (size_t s = 0; s < inputs.size(); ++s) {
      frames.segments[s].state = &(*inputs[s].states)[i];
    }
    layers_[i]->Forward(&frames);
    observe("layer " + std::to_string(i));
  }
  if (!after_norm_) return std::move(frames.rows);
  after_norm_->Normalize(frames.rows.rows());
  observe("after_norm");
  return std::move(frames.rows);
}

}  // namespace runnel
