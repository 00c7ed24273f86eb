#include "encoder/cpu/subsampling.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "encoder/cpu/kernels/image_kernels.h"

namespace runnel::cpu {
namespace {

// Encoder frames convolved at a time: their patches stay in the caches.
constexpr int64_t kBlockFrames = 8;
// Rows of the last layer at a time, of any number of segments.
constexpr int64_t kConvolvedRows = 64;

// (channels, 1, k, k) -> (k * k, channels)
std::vector<float> TapsFirst(const Tensor& weight) {
  return Float32Values(
      Transposed(weight.Reshaped({weight.size(0), weight.size(2) * weight.size(3)})));
}

// A convolution as a matmul of its patches, whose input channels are innermost.
LinearWeights PatchLayer(const std::string& name, const Tensor& weight, const Tensor& bias) {
  const int64_t channels = weight.size(0);
  return {name, weight.Reshaped({channels, weight.count() / channels}), bias};
}

kernels::ImageKernel KernelOf(const SubsamplingGeometry& geometry, const SubsamplingStage& stage) {
  return {stage.kernel_size, geometry.BinKernelSize(stage), stage.stride, stage.padding_before};
}

}  // namespace

Subsampling::Subsampling(const SubsamplingWeights& weights, const EncoderConfig& config,
                         const Options& options, Packer* packer)
    : options_(options),
      geometry_(config.subsampling),
      input_dim_(config.input_dim),
      activation_(weights.activation),
      out_(packer->Pack(weights.out,
                        {options.matmul_type, kernels::MatmulOutput::kStore, std::nullopt, 1.0,
                         weights.out.weight.size(1) / geometry_.NumBins(config.input_dim)})),
      row_dim_(out_.shape().input_dim) {
  if (weights.norm) norm_ = std::make_unique<const LayerNorm>(*weights.norm);
  if (weights.basic_norm) norm_ = std::make_unique<const BasicNorm>(*weights.basic_norm);
  for (size_t i = 0; i < weights.stages.size(); ++i) {
    const SubsamplingStageWeights& stage = weights.stages[i];
    if (i == 0 && !geometry_.bins_are_channels()) {
      if (geometry_.stages()[0].kernel_size != 3) {
        throw std::logic_error("the first convolution of a subsampling is not 3 x 3");
      }
      first_weight_ = TapsFirst(stage.weight);
      first_bias_ = Float32Values(stage.bias);
      continue;
    }
    const bool depthwise = stage.pointwise_weight.defined();
    const Tensor& weight = depthwise ? stage.pointwise_weight : stage.weight;
    const Tensor& bias = depthwise ? stage.pointwise_bias : stage.bias;
    stages_.push_back({depthwise ? TapsFirst(stage.weight) : std::vector<float>(),
                       depthwise ? Float32Values(stage.bias) : std::vector<float>(),
                       packer->Pack(PatchLayer(stage.matrix_name, weight, bias),
                                    {options.matmul_type, kernels::MatmulOutput::kStore,
                                     activation_, 1.0, weight.size(1)})});
  }
}

void Subsampling::Forward(const std::vector<Segment>& segments, Rows x) const {
  kernels::Scratch scratch;
  auto* rows = scratch.Take<float>(kConvolvedRows * row_dim_);
  int64_t filled = 0, done = 0;
  const auto flush = [&] {
    kernels::Scratch pieces;
    const kernels::MatmulInput input =
        kernels::MatmulInput::Take(&pieces, options_.matmul_type, filled, row_dim_);
    kernels::StoreRows(rows, filled, input);
    out_.Forward(input, filled, x.float32(done));
    done += filled;
    filled = 0;
  };
  for (const Segment& segment : segments) {
    for (int64_t begin = segment.frames.begin; begin < segment.frames.end;) {
      const int64_t end =
          std::min({segment.frames.end, begin + kBlockFrames, begin + kConvolvedRows - filled});
      Convolve(segment, {begin, end}, rows + filled * row_dim_);
      filled += end - begin;
      begin = end;
      if (filled == kConvolvedRows) flush();
    }
  }
  if (filled > 0) flush();
  if (norm_) norm_->Normalize(x);
}

void Subsampling::Convolve(const Segment& segment, FrameRange frames, float* y) const {
  const FrameRange read = geometry_.FramesFor(frames, segment.num_features);
  const int64_t num_read = read.end - read.begin;
  const float* features = segment.features.float32(read.begin - segment.first_feature);
  if (geometry_.stages().empty()) {
    std::copy(features, features + num_read * input_dim_, y);
    return;
  }
  const std::vector<StageRange> ranges = geometry_.RangesFor(frames, segment.num_features);
  kernels::Scratch scratch;
  kernels::Image image{features, read.begin, num_read, input_dim_, 1};
  if (geometry_.bins_are_channels()) std::swap(image.bins, image.channels);
  auto next = stages_.begin();
  for (size_t i = 0; i < ranges.size(); ++i) {
    const SubsamplingStage& geometry = geometry_.stages()[i];
    const kernels::ImageKernel kernel = KernelOf(geometry_, geometry);
    const FrameRange range = ranges[i].outputs;
    const kernels::ImageOutputs outputs{range.begin, range.end - range.begin,
                                        geometry_.NumBins(geometry, image.bins)};
    const bool one_channel = i == 0 && !first_weight_.empty();
    const int64_t channels =
        one_channel ? static_cast<int64_t>(first_bias_.size()) : next->linear.shape().output_dim;
    float* values = i + 1 == ranges.size()
                        ? y
                        : scratch.Take<float>(outputs.num_frames * outputs.bins * channels);
    if (one_channel) {
      kernels::ConvolveOneChannel(image, kernel, outputs, first_weight_.data(), first_bias_.data(),
                                  channels, activation_, values);
    } else {
      ConvolveChannels(*next++, image, kernel, outputs, values);
    }
    image = {values, range.begin, outputs.num_frames, outputs.bins, channels};
  }
}

void Subsampling::ConvolveChannels(const Stage& stage, const kernels::Image& image,
                                   const kernels::ImageKernel& kernel,
                                   const kernels::ImageOutputs& outputs, float* values) const {
  const int64_t num_outputs = outputs.num_frames * outputs.bins;
  kernels::Scratch scratch;
  const kernels::MatmulInput input = kernels::MatmulInput::Take(
      &scratch, options_.matmul_type, num_outputs, stage.linear.shape().input_dim);
  if (stage.depthwise_weight.empty()) {
    kernels::GatherPatches(image, kernel, outputs, input);
  } else {
    kernels::ConvolveDepthwise(image, kernel, outputs, stage.depthwise_weight.data(),
                               stage.depthwise_bias.data(), input);
  }
  stage.linear.Forward(input, num_outputs, values);
}

}  // namespace runnel::cpu
