// The power spectrum of one window: part of the extractors.

#ifndef RUNNEL_FRONTEND_FEATURES_POWER_SPECTRUM_H_
#define RUNNEL_FRONTEND_FEATURES_POWER_SPECTRUM_H_

#include <cstddef>
#include <memory>
#include <vector>

struct kiss_fft_state;

namespace runnel {

// |FFT|^2 of a real signal, by KISS FFT. The library's own real transform keeps a work buffer
// inside its plan, which would make the plan unsafe to share; so we run its complex transform,
// which only reads the plan, on pairs of samples, and separate the two interleaved spectra here.
// Immutable after construction, hence thread-safe. Allocates nothing per call, except inside
// KISS FFT when the size has a prime factor above 5.
class PowerSpectrum {
 public:
  // `fft_size`: points of the real transform, even, at least 2.
  explicit PowerSpectrum(int fft_size);
  ~PowerSpectrum();
  PowerSpectrum(const PowerSpectrum&) = delete;
  PowerSpectrum& operator=(const PowerSpectrum&) = delete;

  // `samples`: fft_size values; `work`: room for fft_size values; `power`: fft_size / 2 values are
  // written, from 0 Hz up, the Nyquist frequency left out (no mel filter reaches it).
  // The three must not overlap.
  void Compute(const float* samples, float* work, float* power) const;

 private:
  struct PlanDeleter {
    void operator()(kiss_fft_state* plan) const;
  };

  size_t num_pairs_;
  std::unique_ptr<kiss_fft_state, PlanDeleter> plan_;  // complex, of fft_size / 2 points
  std::vector<float> cos_, sin_;                       // of 2 pi k / fft_size
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_POWER_SPECTRUM_H_
