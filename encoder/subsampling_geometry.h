// Which feature frames make which encoder frames: the arithmetic of the subsampling, no numbers.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_SUBSAMPLING_GEOMETRY_H_
#define RUNNEL_ENCODER_SUBSAMPLING_GEOMETRY_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace runnel {

enum class SubsamplingType {
  kConv2d4,      // two 3x3 convolutions of stride 2 (WeNet, ESPnet)
  kConv2d6,      // 3x3 of stride 2, 5x5 of stride 3
  kConv2d8,      // three 3x3 of stride 2
  kLinear,       // no convolution, a linear layer and a layer norm
  kStriding4,    // two padded 3x3 of stride 2 (NeMo)
  kDwStriding8,  // three padded 3x3 of stride 2, the last two depthwise (NeMo FastConformer)
};

struct SubsamplingConfig {
  SubsamplingType type = SubsamplingType::kConv2d4;
  int channels = 0;     // of the striding kinds; the others have model_dim
  bool causal = false;  // of the striding kinds: padded by 2 before and 1 after instead of 1 and 1

  bool is_striding() const {
    return type == SubsamplingType::kStriding4 || type == SubsamplingType::kDwStriding8;
  }
};

// A range of frames, [begin, end).
struct FrameRange {
  int64_t begin = 0;
  int64_t end = 0;
};

// One convolution over time (and, alike, over the bins of a frame). Padding is with zeros.
struct SubsamplingStage {
  int64_t kernel_size;
  int64_t stride;
  int64_t padding_before;
  int64_t padding_after;

  // Frames made of `num_frames`; none of none.
  int64_t NumOutputs(int64_t num_frames) const;
  // Frames that the outputs of a range read; negative ones and ones past the end are padding.
  FrameRange Inputs(FrameRange outputs) const;
};

// What a stage computes when some encoder frames are wanted of a stream.
struct StageRange {
  FrameRange inputs;   // that it reads, padding included
  int64_t num_inputs;  // that the stream has, as far as its length is known: more are padding
  FrameRange outputs;  // that it computes, none of them padding
};

class SubsamplingGeometry {
 public:
  explicit SubsamplingGeometry(const SubsamplingConfig& config);

  const std::vector<SubsamplingStage>& stages() const { return stages_; }

  // Feature frames per encoder frame.
  int64_t rate() const { return rate_; }
  // Encoder frame t reads, where nothing is padded, feature frames t * rate() - left_overlap()
  // to t * rate() + right_context().
  int64_t left_overlap() const { return left_overlap_; }
  int64_t right_context() const { return right_context_; }

  // Encoder frames of a recording of `num_frames` feature frames.
  int64_t NumEncoderFrames(int64_t num_frames) const;

  // Per stage, first to last. num_frames: feature frames of the stream, where it has ended.
  std::vector<StageRange> RangesFor(FrameRange wanted, std::optional<int64_t> num_frames) const;
  // The feature frames that are read.
  FrameRange FramesFor(FrameRange wanted, std::optional<int64_t> num_frames) const;

  // What `input_dim` bins become.
  int64_t NumBins(int64_t input_dim) const;

 private:
  std::vector<SubsamplingStage> stages_;
  int64_t rate_ = 1;
  int64_t left_overlap_ = 0;
  int64_t right_context_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_SUBSAMPLING_GEOMETRY_H_
