// Mel-frequency cepstral coefficients of one frame at a time, as Kaldi computes them.
#ifndef RUNNEL_FRONTEND_FEATURES_MFCC_H_
#define RUNNEL_FRONTEND_FEATURES_MFCC_H_

#include <cstdint>
#include <vector>

#include "frontend/features/fbank.h"
#include "frontend/features/frame_extractor.h"
#include "frontend/features/mfcc_options.h"

namespace runnel {

// The cosine transform of Fbank's logarithms. Source: Kaldi, src/feat (feature-mfcc).
class Mfcc : public FrameExtractor {
 public:
  // Throws std::invalid_argument as MfccOptions::Validate does.
  explicit Mfcc(const MfccOptions& options);

  void ComputeFrame(const float* samples, int64_t frame, FrameScratch* scratch,
                    float* features) const override;

  // Coefficient 0 is the sum of the logarithms over the root of their number.
  float Level(const float* features) const override;

 private:
  MfccOptions options_;
  Fbank fbank_;
  std::vector<float> transform_;  // (num_ceps, num_mel_bins): cosines, liftered
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_MFCC_H_
