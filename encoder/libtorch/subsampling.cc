#include "encoder/libtorch/subsampling.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv2d.h>

#include <algorithm>

#include "encoder/libtorch/dense.h"
#include "encoder/libtorch/operation_guard.h"
#include "encoder/libtorch/tensor_rows.h"

namespace runnel::libtorch {
namespace {

// Encoder frames computed at a time. It bounds the (d, 2n, input_dim/2) image between the
// convolutions when a whole utterance comes as one chunk.
constexpr int64_t kMaxEncoderFrames = 256;

constexpr int64_t kNoPadding = 0;
constexpr int64_t kNoDilation = 1;

}  // namespace

void Subsampling::Forward(const std::vector<Segment>& segments, Rows x) const {
  const OperationGuard guard;
  for (const Segment& segment : segments) {
    View(x.Part(segment.first_row, segment.num_rows()))
        .copy_(Forward(View(segment.features), segment.first_feature, segment.frames,
                       segment.num_features));
  }
}

at::Tensor Subsampling::Forward(const at::Tensor& features, int64_t first_feature,
                                FrameRange frames, std::optional<int64_t> num_features) const {
  std::vector<at::Tensor> parts;
  for (int64_t begin = frames.begin; begin < frames.end; begin += kMaxEncoderFrames) {
    const int64_t end = std::min(frames.end, begin + kMaxEncoderFrames);
    parts.push_back(ForwardBlock(features, first_feature, {begin, end}, num_features));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 0);
}

at::Tensor Subsampling::ForwardBlock(const at::Tensor& features, int64_t first_feature,
                                     FrameRange frames, std::optional<int64_t> num_features) const {
  const std::vector<SubsamplingStage>& stages = geometry_.stages();
  const std::vector<StageRange> ranges = geometry_.RangesFor(frames, num_features);
  const FrameRange range = geometry_.FramesFor(frames, num_features);
  at::Tensor image = features.narrow(0, range.begin - first_feature, range.end - range.begin);
  if (stages.empty()) return LayerNorm(*weights_.norm, Linear(weights_.out, image));
  image = geometry_.bins_are_channels() ? image.t().unsqueeze(0).unsqueeze(3)
                                        : image.unsqueeze(0).unsqueeze(0);
  for (size_t i = 0; i < stages.size(); ++i) {
    const SubsamplingStage& stage = stages[i];
    // Outputs beyond the stream's ends are not computed but padded.
    const int64_t before = std::max<int64_t>(0, -ranges[i].inputs.begin);
    const int64_t after = std::max<int64_t>(0, ranges[i].inputs.end - ranges[i].num_inputs);
    if (stage.padding_before + stage.padding_after > 0) {
      image =
          at::constant_pad_nd(image, {stage.padding_before, stage.padding_after, before, after});
    }
    const SubsamplingStageWeights& weights = weights_.stages[i];
    image =
        at::conv2d(image, View(weights.weight), View(weights.bias), at::IntArrayRef(stage.stride),
                   at::IntArrayRef(kNoPadding), at::IntArrayRef(kNoDilation), weights.groups);
    if (weights.pointwise_weight.defined()) {
      image = at::conv2d(image, View(weights.pointwise_weight), View(weights.pointwise_bias));
    }
    image = Activate(weights_.activation, image);  // (1, channels, frames, bins)
  }
  const at::Tensor y = Linear(weights_.out, image.squeeze(0).transpose(0, 1).flatten(1));
  return weights_.basic_norm ? BasicNorm(*weights_.basic_norm, y) : y;
}

}  // namespace runnel::libtorch
