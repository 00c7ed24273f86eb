// Options of the filterbank features, with the names and the meaning that Kaldi gives them.
#ifndef RUNNEL_FRONTEND_FEATURES_FBANK_OPTIONS_H_
#define RUNNEL_FRONTEND_FEATURES_FBANK_OPTIONS_H_

#include <cstdint>
#include <string>

namespace runnel {

// The defaults are those of Kaldi's compute-fbank-feats, except that `dither` is 0, which makes
// features reproducible. The options must equal what the model was trained on; a wrong value
// costs accuracy without any error message.
struct FbankOptions {
  // ---- Framing ----

  // Sampling rate of the samples, Hz, 1000 to 10 million. Audio at another rate is resampled first
  // (audio_source.h).
  float sample_frequency = 16000.0F;

  // Length of a frame's window, milliseconds; in samples it is rounded down, at least 2 and
  // at most 2^20.
  float frame_length_ms = 25.0F;

  // Distance between the starts of two frames, milliseconds; in samples rounded down, at least 1
  // and at most 2^20.
  float frame_shift_ms = 10.0F;

  // true: only frames that lie wholly inside the audio; the first starts at sample 0.
  // false: one frame per frame shift, centred on it, the audio mirrored at both ends. The number of
  // frames is then the duration divided by the shift, whatever the window length.
  bool snip_edges = true;

  // ---- Window ----

  // Gaussian noise added to each window, in the unit of the scaled samples; 0 = none, at most 1e6.
  // Kaldi's default is 1. Set it only for a model that was trained with it. The noise of a frame
  // depends only on `dither_seed` and the frame's index, so results stay reproducible.
  float dither = 0.0F;

  // Seed of the dither. Any value.
  uint64_t dither_seed = 0;

  // true: subtract the mean of each window before anything else.
  bool remove_dc_offset = true;

  // Pre-emphasis x[i] - c * x[i-1] within each window; in [0, 1], 0 = none.
  float preemph_coeff = 0.97F;

  // "povey" (a Hann window to the power 0.85), "hanning", "hamming", "rectangular" or "blackman".
  std::string window_type = "povey";

  // Shape of the "blackman" window, ignored for the others; in [0, 1].
  float blackman_coeff = 0.42F;

  // true: the window is padded with zeros to a power of two before the FFT.
  // false: the FFT has the window's length, which must then be even. If it has a prime factor above
  // 5, KISS FFT allocates memory for every frame; otherwise only a scratch's first frame does.
  bool round_to_power_of_two = true;

  // ---- Mel filters ----

  // Number of triangular filters, 3 to 4096. Each must see at least one FFT point, so high counts
  // need a long enough FFT.
  int num_mel_bins = 23;

  // Lower edge of the first filter, Hz; 0 <= low_freq < high edge.
  float low_freq = 20.0F;

  // Upper edge of the last filter, Hz. A value <= 0 is an offset from the Nyquist frequency
  // (-400 at 16 kHz: 7600 Hz; 0: the Nyquist frequency itself).
  float high_freq = 0.0F;

  // ---- Output ----

  // true: filters weigh the power spectrum; false: the magnitude spectrum.
  bool use_power = true;

  // true: the natural logarithm of each filter's output, floored at FLT_EPSILON; false: the output.
  bool use_log_fbank = true;

  // true: add one value per frame, the log energy of the window: column 0, the filters after it.
  bool use_energy = false;

  // With `use_energy`: true: energy of the window after dither and mean removal, but before
  // pre-emphasis and the window function; false: after them.
  bool raw_energy = true;

  // With `use_energy`: lower bound of the energy before its logarithm, in squared scaled samples;
  // 0 = none but FLT_EPSILON. Kaldi suggests 0.1 to 1 where there is no dither.
  float energy_floor = 0.0F;

  // With `use_energy`: true: the energy is the last column, as in HTK, instead of the first.
  bool htk_compat = false;

  // Throws std::invalid_argument, naming the field, its value and the range, if no features can be
  // computed with these options.
  void Validate() const;

  // Derived sizes, of valid options.
  int FrameLengthSamples() const;
  int FrameShiftSamples() const;
  int FftSize() const;       // points of the real FFT, even
  float HighFreqHz() const;  // upper edge of the last filter, with `high_freq` <= 0 resolved
  int FeatureDim() const {   // values per frame
    return num_mel_bins + (use_energy ? 1 : 0);
  }
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_FBANK_OPTIONS_H_
