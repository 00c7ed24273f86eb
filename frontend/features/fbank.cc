#include "frontend/features/fbank.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "frontend/features/dither.h"
#include "frontend/features/mel_energies.h"
#include "frontend/features/mel_filters.h"
#include "frontend/features/window_function.h"

namespace runnel {
namespace {

// Kaldi's floor under every logarithm.
constexpr float kLogFloor = std::numeric_limits<float>::epsilon();

// Sum of value(i) over i < count, as kLanes interleaved sums: the compiler may keep them in SIMD
// registers without reordering any addition, so the result does not depend on the machine.
template <typename Value>
float LaneSum(size_t count, const Value& value) {
  constexpr size_t kLanes = 8;
  std::array<float, kLanes> sums = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += value(i + lane);
  }
  for (; i < count; ++i) sums[0] += value(i);
  for (size_t step = kLanes / 2; step > 0; step /= 2) {
    for (size_t lane = 0; lane < step; ++lane) sums[lane] += sums[lane + step];
  }
  return sums[0];
}

}  // namespace

FrameGeometry Fbank::Geometry(const FbankOptions& options) {
  options.Validate();
  FrameGeometry geometry;
  geometry.sample_frequency = options.sample_frequency;
  geometry.length = options.FrameLengthSamples();
  geometry.shift = options.FrameShiftSamples();
  geometry.edge = AudioEdge::kMirror;
  if (options.snip_edges) {
    geometry.first_sample = 0;
    geometry.count_offset = geometry.shift - geometry.length;
  } else {
    geometry.first_sample = geometry.shift / 2 - geometry.length / 2;
    geometry.count_offset = geometry.shift / 2;
  }
  // Removing the mean and pre-emphasis, within the window, make a sample at most 4 times as large,
  // and the energies sum to at most the square of FftSize() such samples; another factor of 2 is
  // left for rounding.
  geometry.max_magnitude =
      std::sqrt(std::numeric_limits<float>::max()) / (8.0F * static_cast<float>(options.FftSize()));
  return geometry;
}

Fbank::Fbank(const FbankOptions& options)
    : FrameExtractor(Geometry(options), options.FeatureDim()),
      options_(options),
      window_(MakeWindow(options.window_type, static_cast<size_t>(frame_length()), false,
                         static_cast<double>(options.blackman_coeff))),
      mel_energies_(std::make_unique<const MelEnergies>(options.FftSize(), KaldiMelFilters(options),
                                                        options.use_power)) {}

Fbank::~Fbank() = default;

float Fbank::PrepareWindow(const float* samples, int64_t frame, FrameScratch* scratch) const {
  const auto length = static_cast<size_t>(frame_length());
  const bool raw_energy = options_.use_energy && options_.raw_energy;
  float* const out = mel_energies_->Window(scratch);

  const float* in = samples;
  if (options_.dither != 0.0F) {
    float* const dithered = mel_energies_->Spare(scratch);
    AddDither(samples, length, options_.dither, options_.dither_seed, frame, dithered);
    in = dithered;
  }

  float mean = 0.0F;
  if (options_.remove_dc_offset) {
    mean = LaneSum(length, [in](size_t i) { return in[i]; }) / static_cast<float>(length);
  }
  float energy = 0.0F;
  if (raw_energy) {
    energy = LaneSum(length, [in, mean](size_t i) { return (in[i] - mean) * (in[i] - mean); });
  }

  const float* const window = window_.data();
  const float preemph = options_.preemph_coeff;
  // The first sample has no predecessor and stands in for it.
  out[0] = ((in[0] - mean) - preemph * (in[0] - mean)) * window[0];
  for (size_t i = 1; i < length; ++i) {
    out[i] = ((in[i] - mean) - preemph * (in[i - 1] - mean)) * window[i];
  }
  std::fill(out + length, out + options_.FftSize(), 0.0F);

  if (!options_.use_energy) return 0.0F;
  if (!raw_energy) energy = LaneSum(length, [out](size_t i) { return out[i] * out[i]; });
  return std::log(std::max({energy, options_.energy_floor, kLogFloor}));
}

void Fbank::ComputeFrame(const float* samples, int64_t frame, FrameScratch* scratch,
                         float* features) const {
  const float log_energy = PrepareWindow(samples, frame, scratch);
  const size_t num_bins = static_cast<size_t>(options_.num_mel_bins);
  const bool energy_first = options_.use_energy && !options_.htk_compat;
  float* const mel = features + (energy_first ? 1 : 0);
  mel_energies_->Compute(scratch, mel);
  if (options_.use_log_fbank) {
    for (size_t i = 0; i < num_bins; ++i) mel[i] = std::log(std::max(mel[i], kLogFloor));
  }
  if (options_.use_energy) features[energy_first ? 0 : num_bins] = log_energy;
}

}  // namespace runnel
