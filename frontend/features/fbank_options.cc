#include "frontend/features/fbank_options.h"

#include <cmath>
#include <sstream>
#include <string>

#include "frontend/features/mel_filters.h"
#include "frontend/features/option_checks.h"
#include "frontend/features/window_function.h"

namespace runnel {
namespace {

// Full scale of 16-bit samples is 32768: anything louder than this is no dither.
constexpr float kMaxDither = 1e6F;
constexpr int kMinMelBins = 3;
constexpr OptionChecks kChecks("FbankOptions");

void CheckNotNegative(const char* field, float value) {
  if (!(value >= 0.0F) || std::isinf(value)) kChecks.Fail(field, value, "a finite value >= 0");
}

// Kaldi's arithmetic to the letter, because the rounding decides between, say, 400 and 399 samples.
double Samples(float sample_frequency, float milliseconds) {
  return static_cast<double>(sample_frequency) * 0.001 * static_cast<double>(milliseconds);
}

void CheckDuration(const char* field, float milliseconds, float sample_frequency, int min_samples) {
  const double samples = Samples(sample_frequency, milliseconds);
  if (samples >= min_samples && samples <= kMaxFrameSamples) return;
  std::ostringstream expected;
  expected << "milliseconds that make " << min_samples << " to " << kMaxFrameSamples
           << " samples at sample_frequency " << sample_frequency << " Hz";
  kChecks.Fail(field, milliseconds, expected.str());
}

}  // namespace

void FbankOptions::Validate() const {
  kChecks.Range("sample_frequency", sample_frequency, kMinFrequencyHz, kMaxFrequencyHz, "Hz");
  CheckDuration("frame_length_ms", frame_length_ms, sample_frequency, 2);
  CheckDuration("frame_shift_ms", frame_shift_ms, sample_frequency, 1);
  kChecks.Range("dither", dither, 0.0F, kMaxDither);
  kChecks.Range("preemph_coeff", preemph_coeff, 0.0F, 1.0F);
  kChecks.Range("blackman_coeff", blackman_coeff, 0.0F, 1.0F);
  CheckNotNegative("energy_floor", energy_floor);
  if (!IsWindowType(window_type)) {
    kChecks.Fail("window_type", '"' + window_type + '"', "one of " + WindowTypes());
  }
  if (FftSize() % 2 != 0) {
    std::ostringstream expected;
    expected << "round_to_power_of_two, or a frame of an even number of samples (it has "
             << FrameLengthSamples() << ")";
    kChecks.Fail("frame_length_ms", frame_length_ms, expected.str());
  }
  kChecks.Range("num_mel_bins", num_mel_bins, kMinMelBins, kMaxMelBins);

  const float nyquist = 0.5F * sample_frequency;
  std::ostringstream below_nyquist;
  below_nyquist << nyquist << " Hz, half of sample_frequency";
  if (!(low_freq >= 0.0F && low_freq < nyquist)) {
    kChecks.Fail("low_freq", low_freq, "at least 0 and below " + below_nyquist.str());
  }
  if (!(HighFreqHz() > low_freq && HighFreqHz() <= nyquist)) {
    std::ostringstream expected;
    expected << "above low_freq (" << low_freq << " Hz) and at most " << below_nyquist.str()
             << "; a value <= 0 counts from there";
    kChecks.Fail("high_freq", high_freq, expected.str());
  }
  // Rejects more filters than the FFT has points for.
  KaldiMelFilters(*this);
}

int FbankOptions::FrameLengthSamples() const {
  return static_cast<int>(Samples(sample_frequency, frame_length_ms));
}

int FbankOptions::FrameShiftSamples() const {
  return static_cast<int>(Samples(sample_frequency, frame_shift_ms));
}

int FbankOptions::FftSize() const {
  if (!round_to_power_of_two) return FrameLengthSamples();
  int size = 1;
  while (size < FrameLengthSamples()) size *= 2;
  return size;
}

float FbankOptions::HighFreqHz() const {
  return high_freq > 0.0F ? high_freq : 0.5F * sample_frequency + high_freq;
}

}  // namespace runnel
