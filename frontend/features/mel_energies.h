// Computes the outputs of the mel filters from a windowed frame, for Fbank and MelSpectrogram.

#ifndef RUNNEL_FRONTEND_FEATURES_MEL_ENERGIES_H_
#define RUNNEL_FRONTEND_FEATURES_MEL_ENERGIES_H_

#include <cstddef>

#include "frontend/features/frame_extractor.h"
#include "frontend/features/mel_filters.h"
#include "frontend/features/power_spectrum.h"

namespace runnel {

// FFT, power or magnitude, filters. Immutable after construction, hence thread-safe.
class MelEnergies {
 public:
  // `fft_size`: even. `filters`: over the fft_size / 2 points below the Nyquist frequency.
  // `use_power`: they weigh the power spectrum; false: the magnitude spectrum.
  MelEnergies(int fft_size, MelFilters filters, bool use_power);

  // The memory for a window of fft_size samples, which the caller fills before Compute.
  float* Window(FrameScratch* scratch) const;
  // Memory of the same size that Compute overwrites.
  float* Spare(FrameScratch* scratch) const;

  // Writes one value per filter.
  void Compute(FrameScratch* scratch, float* mel) const;

 private:
  void Prepare(FrameScratch* scratch) const;

  size_t fft_size_;
  PowerSpectrum power_spectrum_;
  MelFilters filters_;
  bool use_power_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_MEL_ENERGIES_H_
