// Normalises feature frames to the mean and deviation that the model was trained with.
// models/README.md specifies it.
#ifndef RUNNEL_ENCODER_NORMALIZATION_H_
#define RUNNEL_ENCODER_NORMALIZATION_H_

#include <cstdint>
#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/rows.h"

namespace runnel {

class Weights;

// Mean and summed squared deviation of each bin over the frames of a stream. A value.
struct FeatureStatistics {
  int64_t num_frames = 0;
  std::vector<double> mean;
  std::vector<double> squares;  // sum of (x - mean)^2

  // Adds (num_new_frames, num_bins) row-major frames, all of one chunk. The sums of the chunk are
  // computed first and then merged (Chan, Golub and LeVeque 1979): the same chunks give the same
  // bits.
  void Add(const float* frames, int64_t num_new_frames, int64_t num_bins);
};

// Const after construction.
class FeatureNormalizer {
 public:
  // Takes encoder.global_cmvn.{mean,istd} where the configuration asks for them.
  FeatureNormalizer(const EncoderConfig& config, Weights* weights);

  // Observes a chunk and normalises it: a frame is normalised once, by all frames up to the end of
  // its chunk.
  void Normalize(const float* frames, FeatureStatistics* statistics, Rows out) const;

  // With kRunning and kUtterance, adds frames to the statistics.
  void Observe(const float* frames, int64_t num_frames, int64_t num_bins,
               FeatureStatistics* statistics) const;
  // Fills `out`, kFloat32 or kFloat64, with out.count normalised frames. `frames`: row-major, with
  // kRunning and kUtterance some of those that the statistics are of.
  void Apply(const float* frames, const FeatureStatistics& statistics, Rows out) const;

  // The frame that is normalised to zeros, up to rounding; zeros without normalisation.
  std::vector<float> MeanFrame(const FeatureStatistics& statistics, int64_t num_bins) const;

 private:
  bool by_statistics_;
  FeatureDeviation deviation_;
  double epsilon_;
  std::vector<float> mean_;  // (input_dim), empty without global CMVN
  std::vector<float> istd_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_NORMALIZATION_H_
