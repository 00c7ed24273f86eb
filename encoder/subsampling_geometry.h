// The feature frames that each encoder frame reads: the index arithmetic of the subsampling.
#ifndef RUNNEL_ENCODER_SUBSAMPLING_GEOMETRY_H_
#define RUNNEL_ENCODER_SUBSAMPLING_GEOMETRY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace runnel {

enum class SubsamplingType {
  kConv1d2,      // 3 of stride 1, 3 of stride 2 over frames; bins are channels (ESPnet)
  kConv2dOnce2,  // one 3x3 convolution of stride 2 (WeNet's Efficient Conformer)
  kConv2d2,      // 3x3 of stride 2, 3x3 of stride 1 (ESPnet)
  kConv2d4,      // two 3x3 convolutions of stride 2 (WeNet, ESPnet)
  kConv2d6,      // 3x3 of stride 2, 5x5 of stride 3
  kConv2d8,      // three 3x3 of stride 2
  kConv2d121,    // a padded 3x3 of stride 1, 3x3 of stride 2, 3x3 of stride 1 (icefall)
  kConv2d122,    // a padded 3x3 of stride 1, two of stride 2 (icefall's reworked Conformer)
  kLinear,       // no convolution: a linear layer and a layer norm
  kStriding4,    // two padded 3x3 of stride 2 (NeMo)
  kDwStriding8,  // three padded 3x3 of stride 2, the last two depthwise (NeMo FastConformer)
};

struct SubsamplingConfig {
  SubsamplingType type = SubsamplingType::kConv2d4;
  int channels = 0;     // of the striding types
  bool causal = false;  // of the striding types: padding of 2 before and 1 after, not 1 and 1

  bool is_striding() const {
    return type == SubsamplingType::kStriding4 || type == SubsamplingType::kDwStriding8;
  }
  // Whether channels and activation are those of icefall's reworked Conformer.
  bool is_reworked() const {
    return type == SubsamplingType::kConv2d121 || type == SubsamplingType::kConv2d122;
  }
};

// Channels after a stage, counted from 0.
int64_t NumChannels(const SubsamplingConfig& config, size_t stage, int64_t model_dim);

// A range of frames, [begin, end).
struct FrameRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// One convolution over frames and, with the same sizes, over the bins of a frame, unless the bins
// are channels. Padding is zero.
struct SubsamplingStage {
  int64_t kernel_size;
  int64_t stride;
  int64_t padding_before;
  int64_t padding_after;

  // Number of output frames for `num_frames` input frames; 0 for 0.
  int64_t NumOutputs(int64_t num_frames) const;
  // Frames that the outputs of a range read. Negative ones and those past the end are padding.
  FrameRange Inputs(FrameRange outputs) const;
};

// The part of a stage that some encoder frames of a stream need.
struct StageRange {
  FrameRange inputs;   // that the stage reads, padding included
  int64_t num_inputs;  // of the whole stream, once its length is known; later ones are padding
  FrameRange outputs;  // that the stage computes, none of them padding
};

class SubsamplingGeometry {
 public:
  // With `strides`, of the encoder: each joins that many frames of the stage before it to one.
  explicit SubsamplingGeometry(const SubsamplingConfig& config,
                               const std::vector<int64_t>& strides = {});

  const std::vector<SubsamplingStage>& stages() const { return stages_; }

  // Feature frames per encoder frame.
  int64_t rate() const { return rate_; }
  // Without padding, encoder frame t reads the feature frames t * rate() - left_overlap() to
  // t * rate() + right_context().
  int64_t left_overlap() const { return left_overlap_; }
  int64_t right_context() const { return right_context_; }

  // Encoder frames of a recording of `num_frames` feature frames.
  int64_t NumEncoderFrames(int64_t num_frames) const;

  // Per stage, first to last. num_frames: feature frames of the stream, once it has ended.
  std::vector<StageRange> RangesFor(FrameRange wanted, std::optional<int64_t> num_frames) const;
  // The feature frames that the wanted encoder frames read.
  FrameRange FramesFor(FrameRange wanted, std::optional<int64_t> num_frames) const;

  // Whether the first stage reads the bins of a frame as the channels of one bin.
  bool bins_are_channels() const { return bins_are_channels_; }
  // Kernel size of a stage over the bins.
  int64_t BinKernelSize(const SubsamplingStage& stage) const {
    return bins_are_channels_ ? 1 : stage.kernel_size;
  }
  // Bins after a stage, for `bins` before it.
  int64_t NumBins(const SubsamplingStage& stage, int64_t bins) const {
    return bins_are_channels_ ? 1 : stage.NumOutputs(bins);
  }
  // Bins after the last stage, for `input_dim` bins per feature frame.
  int64_t NumBins(int64_t input_dim) const;

 private:
  std::vector<SubsamplingStage> stages_;
  bool bins_are_channels_;
  int64_t rate_ = 1;
  int64_t left_overlap_ = 0;
  int64_t right_context_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_SUBSAMPLING_GEOMETRY_H_
