#include "frontend/features/mel_spectrogram_options.h"

#include <limits>
#include <sstream>

#include "frontend/features/option_checks.h"
#include "frontend/features/window_function.h"

namespace runnel {
namespace {

constexpr OptionChecks kMelChecks("MelSpectrogramOptions");

}  // namespace

void MelSpectrogramOptions::Validate() const {
  kMelChecks.Range("sample_frequency", sample_frequency, kMinFrequencyHz, kMaxFrequencyHz, "Hz");
  kMelChecks.Range("preemph_coeff", preemph_coeff, 0.0F, 1.0F);
  kMelChecks.Range("fft_size", fft_size, 2, kMaxFrameSamples);
  if (fft_size % 2 != 0) kMelChecks.Fail("fft_size", fft_size, "an even number");
  kMelChecks.Range("frame_length", frame_length, 2, fft_size, "samples, the FFT's size");
  kMelChecks.Range("frame_shift", frame_shift, 1, kMaxFrameSamples);
  if (edge == AudioEdge::kMirror) kMelChecks.Fail("edge", "kMirror", "kZero or kReflect");
  if (!IsWindowType(window_type)) {
    kMelChecks.Fail("window_type", '"' + window_type + '"', "one of " + WindowTypes());
  }
  kMelChecks.Range("num_mel_bins", num_mel_bins, 1, kMaxMelBins);
  const float nyquist = 0.5F * sample_frequency;
  if (!(high_freq > 0.0F && high_freq <= nyquist)) {
    std::ostringstream expected;
    expected << "above 0 and at most " << nyquist << " Hz, half of sample_frequency";
    kMelChecks.Fail("high_freq", high_freq, expected.str());
  }
  if (!(low_freq >= 0.0F && low_freq < high_freq)) {
    std::ostringstream expected;
    expected << "at least 0 and below high_freq (" << high_freq << " Hz)";
    kMelChecks.Fail("low_freq", low_freq, expected.str());
  }
  kMelChecks.Range("log_guard_value", log_guard_value, std::numeric_limits<float>::min(), 1.0F);
}

}  // namespace runnel
