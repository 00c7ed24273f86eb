#include "encoder/subsampling_geometry.h"

namespace runnel {
namespace {

std::vector<SubsamplingStage> Stages(const SubsamplingConfig& config) {
  const SubsamplingStage plain{3, 2, 0, 0};
  const SubsamplingStage padded{3, 2, config.causal ? 2 : 1, 1};
  switch (config.type) {
    case SubsamplingType::kConv2d4:
      return {plain, plain};
    case SubsamplingType::kConv2d6:
      return {plain, {5, 3, 0, 0}};
    case SubsamplingType::kConv2d8:
      return {plain, plain, plain};
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

int64_t SubsamplingStage::NumOutputs(int64_t num_frames) const {
  const int64_t padded = num_frames + padding_before + padding_after;
  return num_frames <= 0 || padded < kernel_size ? 0 : (padded - kernel_size) / stride + 1;
}

FrameRange SubsamplingStage::Inputs(FrameRange outputs) const {
  return {outputs.begin * stride - padding_before,
          (outputs.end - 1) * stride - padding_before + kernel_size};
}

SubsamplingGeometry::SubsamplingGeometry(const SubsamplingConfig& config)
    : stages_(Stages(config)) {
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
  for (const SubsamplingStage& stage : stages_) input_dim = stage.NumOutputs(input_dim);
  return input_dim;
}

}  // namespace runnel
