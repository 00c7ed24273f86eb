#include "encoder/subsampling.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/relu.h>

#include <algorithm>
#include <vector>

namespace runnel {
namespace {

// Encoder frames computed at a time: bounds the (d, 2n, input_dim/2) image between the convolutions
// when a whole utterance comes as one chunk.
constexpr int64_t kMaxEncoderFrames = 256;

// Bins left by the two convolutions.
int64_t SubsampledBins(int64_t input_dim) { return ((input_dim - 1) / 2 - 1) / 2; }

}  // namespace

Conv2dSubsampling4::Conv2dSubsampling4(Weights* weights, const std::string& name,
                                       const EncoderConfig& config)
    : conv0_weight_(weights->Take(name + ".conv.0.weight", {config.model_dim, 1, 3, 3})),
      conv0_bias_(weights->Take(name + ".conv.0.bias", {config.model_dim})),
      conv2_weight_(
          weights->Take(name + ".conv.2.weight", {config.model_dim, config.model_dim, 3, 3})),
      conv2_bias_(weights->Take(name + ".conv.2.bias", {config.model_dim})),
      out_(weights, name + ".out.0", config.model_dim * SubsampledBins(config.input_dim),
           config.model_dim) {}

int64_t Conv2dSubsampling4::NumEncoderFrames(int64_t num_frames) {
  return num_frames <= kRightContext ? 0 : ((num_frames - 1) / 2 - 1) / 2;
}

at::Tensor Conv2dSubsampling4::Forward(const at::Tensor& features) const {
  const int64_t num_encoder_frames = NumEncoderFrames(features.size(0));
  std::vector<at::Tensor> parts;
  for (int64_t first = 0; first < num_encoder_frames; first += kMaxEncoderFrames) {
    const int64_t frames = std::min(kMaxEncoderFrames, num_encoder_frames - first);
    const int64_t num_features = (frames - 1) * kRate + kRightContext + 1;
    at::Tensor image = features.narrow(0, first * kRate, num_features).unsqueeze(0).unsqueeze(0);
    image = at::relu(at::conv2d(image, conv0_weight_, conv0_bias_, 2));
    image = at::relu(at::conv2d(image, conv2_weight_, conv2_bias_, 2));  // (1, d, frames, bins)
    parts.push_back(out_.Forward(image.squeeze(0).transpose(0, 1).flatten(1)));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 0);
}

}  // namespace runnel
