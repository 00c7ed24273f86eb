// Log mel filterbank features of one frame at a time, as Kaldi computes them.
#ifndef RUNNEL_FRONTEND_FEATURES_FBANK_H_
#define RUNNEL_FRONTEND_FEATURES_FBANK_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "frontend/features/fbank_options.h"
#include "frontend/features/frame_extractor.h"

namespace runnel {

class MelEnergies;

// Source: Kaldi, src/feat (feature-window, feature-fbank, mel-computations).
class Fbank : public FrameExtractor {
 public:
  // Throws std::invalid_argument as FbankOptions::Validate does.
  static FrameGeometry Geometry(const FbankOptions& options);

  // Throws std::invalid_argument as FbankOptions::Validate does.
  explicit Fbank(const FbankOptions& options);
  ~Fbank() override;

  const FbankOptions& options() const { return options_; }

  void ComputeFrame(const float* samples, int64_t frame, FrameScratch* scratch,
                    float* features) const override;

 private:
  // Dither, mean removal, pre-emphasis and window function, into the scratch's window. Returns the
  // log energy of the window if use_energy is set, otherwise 0.
  float PrepareWindow(const float* samples, int64_t frame, FrameScratch* scratch) const;

  FbankOptions options_;
  std::vector<float> window_;
  std::unique_ptr<const MelEnergies> mel_energies_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_FBANK_H_
