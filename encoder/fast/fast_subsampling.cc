#include "encoder/fast/fast_subsampling.h"

#include <algorithm>
#include <stdexcept>

#include "encoder/subsampling.h"

namespace runnel {
namespace {

// Encoder frames convolved at a time: their patches stay in the caches.
constexpr int64_t kBlockFrames = 8;
// Rows of the last layer at a time, of however many segments.
constexpr int64_t kBlockRows = 64;

// (channels, 1, k, k) -> (k * k, channels)
std::vector<float> TapsFirst(const at::Tensor& weight) {
  return ValuesOf(weight.flatten(1).t().contiguous());
}

// The last layer's weight for rows whose channels are innermost.
kernels::PackedLinear TakeOut(Weights* weights, const std::string& name,
                              const EncoderConfig& config, int64_t bins,
                              const FastOptions& options) {
  const int64_t row_dim = SubsampledDim(config);
  const at::Tensor weight = weights->Take(name + ".weight", {config.model_dim, row_dim});
  return Pack(weight.view({config.model_dim, row_dim / bins, bins}).transpose(1, 2).contiguous(),
              weights->Take(name + ".bias", {config.model_dim}), options,
              kernels::ProductResult::kStore);
}

kernels::ImageKernel KernelOf(const SubsamplingStage& stage) {
  return {stage.kernel_size, stage.stride, stage.padding_before};
}

}  // namespace

FastSubsampling::FastSubsampling(Weights* weights, const std::string& name,
                                 const EncoderConfig& config, const FastOptions& options)
    : options_(options),
      geometry_(config.subsampling),
      input_dim_(config.input_dim),
      row_dim_(SubsampledDim(config)),
      out_(
          TakeOut(weights, name + ".out.0", config, geometry_.NumBins(config.input_dim), options)) {
  const std::vector<SubsamplingConvolution> convolutions =
      TakeSubsamplingConvolutions(weights, name, config);
  if (convolutions.empty()) {
    norm_.emplace(weights, name + ".out.1", config.model_dim, config.layer_norm_eps);
    return;
  }
  if (geometry_.stages()[0].kernel_size != 3) {
    throw std::logic_error("a first convolution that is not 3 x 3");
  }
  channels_ = convolutions[0].bias.size(0);
  first_weight_ = TapsFirst(convolutions[0].weight);
  first_bias_ = ValuesOf(convolutions[0].bias);
  for (size_t i = 1; i < convolutions.size(); ++i) {
    const SubsamplingConvolution& convolution = convolutions[i];
    const auto pack = [&](const at::Tensor& weight, const at::Tensor& bias) {
      return Pack(weight, bias, options, kernels::ProductResult::kStore, Activation::kRelu);
    };
    if (convolution.pointwise_weight.defined()) {
      stages_.push_back({TapsFirst(convolution.weight), ValuesOf(convolution.bias),
                         pack(convolution.pointwise_weight, convolution.pointwise_bias)});
    } else {
      // (channels, channels, k, k), input channels innermost as in a patch.
      const at::Tensor weight = convolution.weight.permute({0, 2, 3, 1}).contiguous();
      stages_.push_back({{}, {}, pack(weight, convolution.bias)});
    }
  }
}

void FastSubsampling::Forward(const std::vector<CoreSegment>& segments, const FastRows& x) const {
  kernels::Scratch scratch;
  auto* rows = scratch.Take<float>(kBlockRows * row_dim_);
  int64_t filled = 0, done = 0;
  const auto flush = [&] {
    kernels::Scratch pieces;
    const kernels::ProductInput input =
        kernels::ProductInput::Take(&pieces, options_.precision, filled, row_dim_);
    kernels::StoreRows(rows, filled, input);
    out_.Forward(input, filled, x.row(done));
    done += filled;
    filled = 0;
  };
  for (const CoreSegment& segment : segments) {
    for (int64_t begin = segment.wanted.begin; begin < segment.wanted.end;) {
      const int64_t end =
          std::min({segment.wanted.end, begin + kBlockFrames, begin + kBlockRows - filled});
      Convolve(segment, {begin, end}, rows + filled * row_dim_);
      filled += end - begin;
      begin = end;
      if (filled == kBlockRows) flush();
    }
  }
  if (filled > 0) flush();
  if (norm_) norm_->Apply(x);
}

void FastSubsampling::Convolve(const CoreSegment& segment, FrameRange wanted, float* y) const {
  const FrameRange frames = geometry_.FramesFor(wanted, segment.num_frames);
  const float* features =
      segment.features.data_ptr<float>() + (frames.begin - segment.first_frame) * input_dim_;
  if (geometry_.stages().empty()) {
    std::copy(features, features + (frames.end - frames.begin) * input_dim_, y);
    return;
  }
  const std::vector<StageRange> ranges = geometry_.RangesFor(wanted, segment.num_frames);
  kernels::Scratch scratch;
  kernels::Image image{features, frames.begin, frames.end - frames.begin, input_dim_, 1};
  for (size_t i = 0; i < ranges.size(); ++i) {
    const SubsamplingStage& geometry = geometry_.stages()[i];
    const FrameRange range = ranges[i].outputs;
    const kernels::ImageOutputs outputs{range.begin, range.end - range.begin,
                                        geometry.NumOutputs(image.bins)};
    const int64_t num_outputs = outputs.num_frames * outputs.bins;
    float* values = i + 1 == ranges.size() ? y : scratch.Take<float>(num_outputs * channels_);
    if (i == 0) {
      kernels::ConvolveOneChannel(image, KernelOf(geometry), outputs, first_weight_.data(),
                                  first_bias_.data(), channels_, values);
    } else {
      const Stage& stage = stages_[i - 1];
      const kernels::ProductInput input = kernels::ProductInput::Take(
          &scratch, options_.precision, num_outputs, stage.product.shape().input_dim);
      if (stage.depthwise_weight.empty()) {
        kernels::GatherPatches(image, KernelOf(geometry), outputs, input);
      } else {
        kernels::ConvolveDepthwise(image, KernelOf(geometry), outputs,
                                   stage.depthwise_weight.data(), stage.depthwise_bias.data(),
                                   input);
      }
      stage.product.Forward(input, num_outputs, values);
    }
    image = {values, range.begin, outputs.num_frames, outputs.bins, channels_};
  }
}

}  // namespace runnel
