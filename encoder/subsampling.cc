#include "encoder/subsampling.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/relu.h>

#include <algorithm>

namespace runnel {
namespace {

// Encoder frames computed at a time: bounds the (d, 2n, input_dim/2) image between the convolutions
// when a whole utterance comes as one chunk.
constexpr int64_t kMaxEncoderFrames = 256;

constexpr int64_t kNoPadding = 0;
constexpr int64_t kNoDilation = 1;

int64_t NumChannels(const EncoderConfig& config) {
  return config.subsampling.is_striding() ? config.subsampling.channels : config.model_dim;
}

}  // namespace

std::vector<SubsamplingConvolution> TakeSubsamplingConvolutions(Weights* weights,
                                                                const std::string& name,
                                                                const EncoderConfig& config) {
  const bool depthwise = config.subsampling.type == SubsamplingType::kDwStriding8;
  const int64_t channels = NumChannels(config);
  std::vector<SubsamplingConvolution> convolutions;
  int index = 0;  // of the layer in the checkpoint; ReLUs are counted too
  const SubsamplingGeometry geometry(config.subsampling);
  for (const SubsamplingStage& stage : geometry.stages()) {
    const bool first = index == 0;
    const auto take = [&](int layer, const std::vector<int64_t>& shape, at::Tensor* weight,
                          at::Tensor* bias) {
      const std::string layer_name = name + ".conv." + std::to_string(layer);
      *weight = weights->Take(layer_name + ".weight", shape);
      *bias = weights->Take(layer_name + ".bias", {channels});
    };
    SubsamplingConvolution convolution;
    convolution.groups = depthwise && !first ? channels : 1;
    take(index, {channels, first || depthwise ? 1 : channels, stage.kernel_size, stage.kernel_size},
         &convolution.weight, &convolution.bias);
    index += 2;
    if (depthwise && !first) {
      take(index - 1, {channels, channels, 1, 1}, &convolution.pointwise_weight,
           &convolution.pointwise_bias);
      index += 1;
    }
    convolutions.push_back(std::move(convolution));
  }
  return convolutions;
}

int64_t SubsampledDim(const EncoderConfig& config) {
  const SubsamplingGeometry geometry(config.subsampling);
  return geometry.NumBins(config.input_dim) * (geometry.stages().empty() ? 1 : NumChannels(config));
}

Subsampling::Subsampling(Weights* weights, const std::string& name, const EncoderConfig& config)
    : geometry_(config.subsampling),
      convolutions_(TakeSubsamplingConvolutions(weights, name, config)),
      out_(weights, name + ".out.0", SubsampledDim(config), config.model_dim) {
  if (geometry_.stages().empty()) {
    norm_.emplace(weights, name + ".out.1", config.model_dim, config.layer_norm_eps);
  }
}

at::Tensor Subsampling::Forward(const at::Tensor& features, int64_t first_frame, FrameRange wanted,
                                std::optional<int64_t> num_frames) const {
  std::vector<at::Tensor> parts;
  for (int64_t begin = wanted.begin; begin < wanted.end; begin += kMaxEncoderFrames) {
    const int64_t end = std::min(wanted.end, begin + kMaxEncoderFrames);
    parts.push_back(ForwardBlock(features, first_frame, {begin, end}, num_frames));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 0);
}

at::Tensor Subsampling::ForwardBlock(const at::Tensor& features, int64_t first_frame,
                                     FrameRange wanted, std::optional<int64_t> num_frames) const {
  const std::vector<SubsamplingStage>& stages = geometry_.stages();
  const std::vector<StageRange> ranges = geometry_.RangesFor(wanted, num_frames);
  const FrameRange range = geometry_.FramesFor(wanted, num_frames);
  at::Tensor image = features.narrow(0, range.begin - first_frame, range.end - range.begin);
  if (stages.empty()) return norm_->Forward(out_.Forward(image));
  image = image.unsqueeze(0).unsqueeze(0);
  for (size_t i = 0; i < stages.size(); ++i) {
    const SubsamplingStage& stage = stages[i];
    // What lies outside the stream is not computed but padded.
    const int64_t before = std::max<int64_t>(0, -ranges[i].inputs.begin);
    const int64_t after = std::max<int64_t>(0, ranges[i].inputs.end - ranges[i].num_inputs);
    if (stage.padding_before + stage.padding_after > 0) {
      image =
          at::constant_pad_nd(image, {stage.padding_before, stage.padding_after, before, after});
    }
    const SubsamplingConvolution& convolution = convolutions_[i];
    image =
        at::conv2d(image, convolution.weight, convolution.bias, at::IntArrayRef(stage.stride),
                   at::IntArrayRef(kNoPadding), at::IntArrayRef(kNoDilation), convolution.groups);
    if (convolution.pointwise_weight.defined()) {
      image = at::conv2d(image, convolution.pointwise_weight, convolution.pointwise_bias);
    }
    image = at::relu(image);  // (1, channels, frames, bins)
  }
  return out_.Forward(image.squeeze(0).transpose(0, 1).flatten(1));
}

}  // namespace runnel
