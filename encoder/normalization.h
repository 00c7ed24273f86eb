// Brings feature frames to the mean and deviation that the model was trained with.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools. models/README.md specifies it.
#ifndef RUNNEL_ENCODER_NORMALIZATION_H_
#define RUNNEL_ENCODER_NORMALIZATION_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/weights.h"

namespace runnel {

// Mean and summed squared deviation of each bin over the frames that a stream has heard. A value.
struct FeatureStatistics {
  int64_t num_frames = 0;
  std::vector<double> mean;
  std::vector<double> squares;  // sum of (x - mean)^2

  // Takes in (num_frames, bins) row-major frames, all of one chunk: sums run over these first and
  // are then merged (Chan, Golub and LeVeque 1979), so the same chunks give the same bits.
  void Add(const float* frames, int64_t num_new_frames, int64_t num_bins);
};

// Const after construction.
class FeatureNormalizer {
 public:
  // Takes encoder.global_cmvn.{mean,istd} where the configuration asks for them.
  FeatureNormalizer(Weights* weights, const EncoderConfig& config);

  // A chunk's new frames (n, input_dim), normalised, of the weights' type and device. With kRunning
  // and kUtterance the statistics first take in these frames, then normalise them: each frame is
  // normalised once, by all that the stream had heard when its chunk was complete.
  at::Tensor Forward(const float* frames, int64_t num_frames, FeatureStatistics* statistics) const;

 private:
  bool by_statistics_;
  double epsilon_;
  int64_t num_bins_;
  at::TensorOptions options_;
  at::Tensor mean_;  // (input_dim), undefined without global CMVN
  at::Tensor istd_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_NORMALIZATION_H_
