// Log mel spectrogram of one frame at a time, as NeMo and ESPnet compute it.
#ifndef RUNNEL_FRONTEND_FEATURES_MEL_SPECTROGRAM_H_
#define RUNNEL_FRONTEND_FEATURES_MEL_SPECTROGRAM_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "frontend/features/frame_extractor.h"
#include "frontend/features/mel_spectrogram_options.h"

namespace runnel {

class MelEnergies;
class MelFilters;

// The short-time Fourier transform of PyTorch (torch.stft with center), librosa's mel filters, and
// a guarded logarithm. FeatureStream applies pre-emphasis and extends the audio at its ends, as
// FrameGeometry says.
//
// The FFT gets the window's samples first and the zeros after them, where torch.stft puts the
// window in the middle. This delay changes phases only, and a frame waits for its window only, not
// for all of the FFT's points.
//
// Sources: NeMo, nemo/collections/asr/parts/preprocessing/features.py (FilterbankFeatures); ESPnet,
// espnet2/asr/frontend/default.py, espnet2/layers/stft.py and log_mel.py.
class MelSpectrogram : public FrameExtractor {
 public:
  // Throws std::invalid_argument as MelSpectrogramOptions::Validate does.
  explicit MelSpectrogram(const MelSpectrogramOptions& options);
  ~MelSpectrogram() override;

  const MelSpectrogramOptions& options() const { return options_; }

  void ComputeFrame(const float* samples, int64_t frame, FrameScratch* scratch,
                    float* features) const override;

 private:
  MelSpectrogram(const MelSpectrogramOptions& options, const MelFilters& filters);

  MelSpectrogramOptions options_;
  std::vector<float> window_;
  std::unique_ptr<const MelEnergies> mel_energies_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_MEL_SPECTROGRAM_H_
