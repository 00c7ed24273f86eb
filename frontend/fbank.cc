#include "frontend/fbank.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "frontend/dither.h"
#include "frontend/mel_filters.h"
#include "frontend/power_spectrum.h"
#include "frontend/window_function.h"

namespace runnel {
namespace {

// Kaldi's floor under every logarithm.
constexpr float kLogFloor = std::numeric_limits<float>::epsilon();

// Sum of value(i) over i < count, as kLanes interleaved sums: the compiler may keep them in SIMD
// registers without reordering any addition, so the result does not depend on the machine.
template <typename Value>
float LaneSum(std::size_t count, const Value& value) {
  constexpr std::size_t kLanes = 8;
  std::array<float, kLanes> sums = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += value(i + lane);
  }
  for (; i < count; ++i) sums[0] += value(i);
  for (std::size_t step = kLanes / 2; step > 0; step /= 2) {
    for (std::size_t lane = 0; lane < step; ++lane) sums[lane] += sums[lane + step];
  }
  return sums[0];
}

}  // namespace

Fbank::Fbank(const FbankOptions& options) : options_(options) {
  options_.Validate();
  frame_length_ = options_.FrameLengthSamples();
  frame_shift_ = options_.FrameShiftSamples();
  window_ = MakeWindow(options_);
  power_spectrum_ = std::make_unique<const PowerSpectrum>(options_.FftSize());
  mel_filters_ = std::make_unique<const MelFilters>(options_);
}

Fbank::~Fbank() = default;

std::int64_t Fbank::NumFrames(std::int64_t num_samples, bool finished) const {
  const std::int64_t length = frame_length_;
  const std::int64_t shift = frame_shift_;
  // Frames whose windows end within the samples.
  const std::int64_t room = num_samples - length - FirstSampleOfFrame(0);
  const std::int64_t complete = room < 0 ? 0 : 1 + room / shift;
  if (options_.snip_edges) return complete;
  const std::int64_t rounded = (num_samples + shift / 2) / shift;
  return finished ? rounded : std::min(complete, rounded);
}

std::int64_t Fbank::FirstSampleOfFrame(std::int64_t frame) const {
  const std::int64_t first = options_.snip_edges ? 0 : frame_shift_ / 2 - frame_length_ / 2;
  return frame * frame_shift_ + first;
}

float Fbank::PrepareWindow(const float* samples, std::int64_t frame, FbankScratch* scratch) const {
  const auto length = static_cast<std::size_t>(frame_length_);
  const bool raw_energy = options_.use_energy && options_.raw_energy;
  float* const out = scratch->window_.data();

  const float* in = samples;
  if (options_.dither != 0.0F) {
    // The FFT's buffer is free until the window is ready.
    float* const dithered = scratch->work_.data();
    AddDither(samples, length, options_.dither, options_.dither_seed, frame, dithered);
    in = dithered;
  }

  float mean = 0.0F;
  if (options_.remove_dc_offset) {
    mean = LaneSum(length, [in](std::size_t i) { return in[i]; }) / static_cast<float>(length);
  }
  float energy = 0.0F;
  if (raw_energy) {
    energy = LaneSum(length, [in, mean](std::size_t i) { return (in[i] - mean) * (in[i] - mean); });
  }

  const float* const window = window_.data();
  const float preemph = options_.preemph_coeff;
  // The first sample has no predecessor and stands in for it.
  out[0] = ((in[0] - mean) - preemph * (in[0] - mean)) * window[0];
  for (std::size_t i = 1; i < length; ++i) {
    out[i] = ((in[i] - mean) - preemph * (in[i - 1] - mean)) * window[i];
  }
  std::fill(scratch->window_.begin() + frame_length_, scratch->window_.end(), 0.0F);

  if (!options_.use_energy) return 0.0F;
  if (!raw_energy) energy = LaneSum(length, [out](std::size_t i) { return out[i] * out[i]; });
  return std::log(std::max({energy, options_.energy_floor, kLogFloor}));
}

void Fbank::ComputeFrame(const float* samples, std::int64_t frame, FbankScratch* scratch,
                         float* features) const {
  const auto fft_size = static_cast<std::size_t>(options_.FftSize());
  if (scratch->window_.size() != fft_size) {
    scratch->window_.assign(fft_size, 0.0F);
    scratch->work_.assign(fft_size, 0.0F);
    scratch->power_.assign(fft_size / 2 + MelFilters::kGroup - 1, 0.0F);
  }

  const float log_energy = PrepareWindow(samples, frame, scratch);
  float* const power = scratch->power_.data();
  power_spectrum_->Compute(scratch->window_.data(), scratch->work_.data(), power);
  if (!options_.use_power) {
    for (std::size_t k = 0; k < fft_size / 2; ++k) power[k] = std::sqrt(power[k]);
  }

  const std::size_t num_bins = static_cast<std::size_t>(options_.num_mel_bins);
  const bool energy_first = options_.use_energy && !options_.htk_compat;
  float* const mel = features + (energy_first ? 1 : 0);
  mel_filters_->Apply(power, mel);
  if (options_.use_log_fbank) {
    for (std::size_t i = 0; i < num_bins; ++i) mel[i] = std::log(std::max(mel[i], kLogFloor));
  }
  if (options_.use_energy) features[energy_first ? 0 : num_bins] = log_energy;
}

}  // namespace runnel
