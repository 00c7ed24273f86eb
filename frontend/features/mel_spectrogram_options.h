// Options of the log mel spectrogram that NeMo and ESPnet compute.
#ifndef RUNNEL_FRONTEND_FEATURES_MEL_SPECTROGRAM_OPTIONS_H_
#define RUNNEL_FRONTEND_FEATURES_MEL_SPECTROGRAM_OPTIONS_H_

#include <string>

#include "frontend/features/frame_extractor.h"

namespace runnel {

enum class MelScale {
  kSlaney,  // linear to 1 kHz, logarithmic above
  kHtk      // 2595 log10(1 + f / 700)
};

// What keeps the logarithm away from 0.
enum class LogGuard {
  kAdd,   // log(x + value)
  kFloor  // log(max(x, value))
};

// The defaults are those of NeMo's FilterbankFeatures for 80 bins and windows of 25 ms. They must
// equal what the model was trained on; a wrong value costs accuracy without any error message.
struct MelSpectrogramOptions {
  // ---- Audio ----

  // Sampling rate of the samples, Hz, 1000 to 10 million.
  float sample_frequency = 16000.0F;

  // Pre-emphasis x[i] - c x[i-1] of the audio as a whole, before it is cut into windows; in [0, 1],
  // 0 = none.
  float preemph_coeff = 0.97F;

  // ---- Framing: all in samples ----

  // Points of the FFT; even, 2 to 2^20. The FFT of frame t is centred on sample t * frame_shift.
  int fft_size = 512;

  // Length of the window, in the middle of the FFT's points; 2 to fft_size.
  int frame_length = 400;

  // Distance between two frames, 1 to 2^20.
  int frame_shift = 160;

  // What is read before the audio and after it, after pre-emphasis: kZero or kReflect. Audio
  // shorter than a reflection is reflected again and again.
  AudioEdge edge = AudioEdge::kZero;

  // Audio of N > 0 samples has N / frame_shift frames, rounded down; with last_frame, one more.
  bool last_frame = false;

  // ---- Window ----

  // "hanning", "hamming", "rectangular", "blackman" or "povey".
  std::string window_type = "hanning";

  // true: the window's period is frame_length, its first value is missing at its end; false: it is
  // symmetric.
  bool periodic_window = false;

  // ---- Mel filters ----

  // Number of triangular filters, 1 to 4096.
  int num_mel_bins = 80;

  // Edges of the first and the last filter, Hz; 0 <= low_freq < high_freq <= half the rate.
  float low_freq = 0.0F;
  float high_freq = 8000.0F;

  // The scale on which filters are equally spaced.
  MelScale mel_scale = MelScale::kSlaney;

  // true: each filter has the area of 1 Hz ("slaney" in librosa); false: its peak is 1.
  bool slaney_norm = true;

  // ---- Output: natural logarithms ----

  // true: filters weigh the power spectrum; false: the magnitude spectrum.
  bool use_power = true;

  LogGuard log_guard = LogGuard::kAdd;

  // Above 0, at least the smallest normal float, at most 1.
  float log_guard_value = 0x1p-24F;

  // Throws std::invalid_argument, naming the field, its value and the range, if no features can be
  // computed with these options.
  void Validate() const;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_MEL_SPECTROGRAM_OPTIONS_H_
