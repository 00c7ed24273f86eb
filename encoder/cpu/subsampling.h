// The subsampling on the kernels.
#ifndef RUNNEL_ENCODER_CPU_SUBSAMPLING_H_
#define RUNNEL_ENCODER_CPU_SUBSAMPLING_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/kernels/image_kernels.h"
#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/layer_norm.h"
#include "encoder/cpu/options.h"
#include "encoder/cpu/packer.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/subsampling_geometry.h"

namespace runnel::cpu {

// The computation of libtorch::Subsampling. Convolutions are matmuls of the patches that they read.
class Subsampling final : public SubsamplingModule {
 public:
  Subsampling(const SubsamplingWeights& weights, const EncoderConfig& config,
              const Options& options, Packer* packer);

  void Forward(const std::vector<Segment>& segments, Rows x) const override;

 private:
  // A convolution over several channels: a matmul of patches, or a depthwise convolution and then
  // a matmul.
  struct Stage {
    std::vector<float> depthwise_weight;  // (k * k, channels), empty where there is none
    std::vector<float> depthwise_bias;
    kernels::PackedLinear linear;
  };

  // A few encoder frames of a segment, as the last layer reads them: fills y (frames, row_dim_).
  void Convolve(const Segment& segment, FrameRange frames, float* y) const;
  // A convolution of stages_: image -> values.
  void ConvolveChannels(const Stage& stage, const kernels::Image& image,
                        const kernels::ImageKernel& kernel, const kernels::ImageOutputs& outputs,
                        float* values) const;

  Options options_;
  SubsamplingGeometry geometry_;
  int64_t input_dim_;
  Activation activation_;  // after each convolution
  // Of a first convolution over one channel: (k * k, channels); empty where bins are channels.
  std::vector<float> first_weight_;
  std::vector<float> first_bias_;
  std::vector<Stage> stages_;  // all other convolutions
  kernels::PackedLinear out_;
  int64_t row_dim_;  // bins * channels, channels innermost: the input of out_
  std::unique_ptr<const NormModule> norm_;  // null: none
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_SUBSAMPLING_H_
