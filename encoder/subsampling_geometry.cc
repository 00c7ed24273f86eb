#include "encoder/subsampling_geometry.h"

#include <algorithm>
#include <limits>

namespace runnel {
namespace {

std::vector<SubsamplingStage> Stages(const SubsamplingConfig& config) {
  const SubsamplingStage plain{3, 2, 0, 0};
  const SubsamplingStage padded{3, 2, config.causal ? 2 : 1, 1};
  switch (config.type) {
    case SubsamplingType::kConv1d2:
      return {{3, 1, 0, 0}, plain};
    case SubsamplingType::kConv2dOnce2:
      return {plain};
    case SubsamplingType::kConv2d2:
      return {plain, {3, 1, 0, 0}};
    case SubsamplingType::kConv2d4:
      return {plain, plain};
    case SubsamplingType::kConv2d6:
      return {plain, {5, 3, 0, 0}};
    case SubsamplingType::kConv2d8:
      return {plain, plain, plain};
    case SubsamplingType::kConv2d121:
      return {{3, 1, 1, 1}, plain, {3, 1, 0, 0}};
    case SubsamplingType::kConv2d122:
      return {{3, 1, 1, 1}, plain, plain};
    case SubsamplingType::kLinear:
      return {};
    case SubsamplingType::kStriding4:
      return {padded, padded};
    case SubsamplingType::kDwStriding8:
      return {padded, padded, padded};
  }
  return {};
}

}  // namespace

int64_t NumChannels(const SubsamplingConfig& config, size_t stage, int64_t model_dim) {
  constexpr int64_t kOfReworked[] = {8, 32, 128};
  if (config.is_reworked()) return kOfReworked[stage];
  return config.is_striding() ? config.channels : model_dim;
}

int64_t SubsamplingStage::NumOutputs(int64_t num_frames) const {
  const int64_t padded = num_frames + padding_before + padding_after;
  return num_frames <= 0 || padded < kernel_size ? 0 : (padded - kernel_size) / stride + 1;
}

FrameRange SubsamplingStage::Inputs(FrameRange outputs) const {
  return {outputs.begin * stride - padding_before,
          (outputs.end - 1) * stride - padding_before + kernel_size};
}

SubsamplingGeometry::SubsamplingGeometry(const SubsamplingConfig& config,
                                         const std::vector<int64_t>& strides)
    : stages_(Stages(config)), bins_are_channels_(config.type == SubsamplingType::kConv1d2) {
  for (const int64_t stride : strides) stages_.push_back({stride, stride, 0, stride - 1});
  FrameRange range{0, 1};
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    range = stage->Inputs(range);
    rate_ *= stage->stride;
  }
  left_overlap_ = -range.begin;
  right_context_ = range.end - 1;
}

int64_t SubsamplingGeometry::NumEncoderFrames(int64_t num_frames) const {
  for (const SubsamplingStage& stage : stages_) num_frames = stage.NumOutputs(num_frames);
  return num_frames;
}

int64_t SubsamplingGeometry::NumBins(int64_t input_dim) const {
  for (const SubsamplingStage& stage : stages_) input_dim = NumBins(stage, input_dim);
  return input_dim;
}

std::vector<StageRange> SubsamplingGeometry::RangesFor(FrameRange wanted,
                                                       std::optional<int64_t> num_frames) const {
  std::vector<StageRange> ranges(stages_.size());
  int64_t length = num_frames.value_or(std::numeric_limits<int64_t>::max() / 2);
  for (size_t i = 0; i < stages_.size(); ++i) {
    ranges[i].num_inputs = length;
    length = stages_[i].NumOutputs(length);
  }
  FrameRange range = wanted;
  for (size_t i = stages_.size(); i-- > 0;) {
    ranges[i].outputs = range;
    ranges[i].inputs = stages_[i].Inputs(range);
    range = {std::max<int64_t>(ranges[i].inputs.begin, 0),
             std::min(ranges[i].inputs.end, ranges[i].num_inputs)};
  }
  return ranges;
}

FrameRange SubsamplingGeometry::FramesFor(FrameRange wanted,
                                          std::optional<int64_t> num_frames) const {
  if (stages_.empty()) return wanted;
  const StageRange first = RangesFor(wanted, num_frames).front();
  return {std::max<int64_t>(first.inputs.begin, 0), std::min(first.inputs.end, first.num_inputs)};
}

}  // namespace runnel
