#include "encoder/conformer.h"

#include <algorithm>
#include <cmath>

#include "encoder/branchformer_layer.h"
#include "encoder/conformer_layer.h"
#include "encoder/encoder_weights.h"

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
      subsampling_(backend.MakeSubsampling(BindSubsampling(config, weights))),
      input_positions_(backend.MakeInputPositions()) {
  if (config.type == EncoderType::kMultitalkerConformer) {
    speaker_kernel_ = backend.MakeFeedForward(BindSpeakerKernel(config, weights), nullptr);
  }
  for (int i = 0; i < config.num_layers; ++i) {
    layers_.push_back(MakeLayer(config, i, weights, backend));
  }
  if (config.after_norm) after_norm_ = backend.MakeNorm(BindAfterNorm(config, weights));
}

std::vector<LayerState> Conformer::InitialStates() const {
  std::vector<LayerState> states;
  for (const auto& layer : layers_) states.push_back(layer->InitialState());
  return states;
}

Matrix Conformer::Forward(const std::vector<Input>& inputs, const LayerObserver& observer) const {
  std::vector<Segment> segments;
  int64_t num_rows = 0;
  for (const Input& input : inputs) {
    segments.push_back(input.segment);
    segments.back().first_row = num_rows;
    num_rows += input.segment.num_rows();
  }
  Matrix output(data_type_, model_dim_, num_rows);
  const Rows x = output.rows();
  const auto observe = [&](const std::string& name) {
    if (observer) observer(name, x);
  };
  subsampling_->Forward(segments, x);
  if (input_scale_ != 1.0) Scale(input_scale_, x);
  if (input_positions_) {
    for (const Segment& segment : segments) {
      input_positions_->AddTo(segment.frames.begin, x.Part(segment.first_row, segment.num_rows()));
    }
  }
  observe("subsampling");
  if (speaker_kernel_) speaker_kernel_->Add(segments, x, x);
  for (size_t i = 0; i < layers_.size(); ++i) {
    for (size_t s = 0; s < segments.size(); ++s) segments[s].state = &(*inputs[s].states)[i];
    layers_[i]->Forward(segments, x);
    observe("layer " + std::to_string(i));
  }
  if (!after_norm_) return output;
  after_norm_->Normalize(x);
  observe("after_norm");
  return output;
}

}  // namespace runnel
