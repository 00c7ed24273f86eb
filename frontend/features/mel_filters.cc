#include "frontend/features/mel_filters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace runnel {
namespace {

float KaldiMel(float hz) { return 1127.0F * std::log(1.0F + hz / 700.0F); }

// Slaney's scale (Auditory Toolbox, 1998): linear to 1 kHz, then logarithmic, 27 steps to a factor
// of 6.4.
constexpr double kSlaneyHzPerMel = 200.0 / 3.0;
constexpr double kSlaneyBreakHz = 1000.0;
constexpr double kSlaneyBreakMel = kSlaneyBreakHz / kSlaneyHzPerMel;
const double kSlaneyLogStep = std::log(6.4) / 27.0;

double ToMel(MelScale scale, double hz) {
  if (scale == MelScale::kHtk) return 2595.0 * std::log10(1.0 + hz / 700.0);
  if (hz < kSlaneyBreakHz) return hz / kSlaneyHzPerMel;
  return kSlaneyBreakMel + std::log(hz / kSlaneyBreakHz) / kSlaneyLogStep;
}

double ToHz(MelScale scale, double mel) {
  if (scale == MelScale::kHtk) return 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0);
  if (mel < kSlaneyBreakMel) return mel * kSlaneyHzPerMel;
  return kSlaneyBreakHz * std::exp((mel - kSlaneyBreakMel) * kSlaneyLogStep);
}

}  // namespace

void MelFilters::Add(size_t first_point, const std::vector<float>& weights) {
  const size_t num_groups = (weights.size() + kGroup - 1) / kGroup;
  filters_.push_back({first_point, num_groups});
  const size_t begin = weights_.size();
  weights_.insert(weights_.end(), weights.begin(), weights.end());
  weights_.resize(begin + num_groups * kGroup, 0.0F);
  for (const float weight : weights) largest_weight_ = std::max(largest_weight_, weight);
}

void MelFilters::Apply(const float* spectrum, float* output) const {
  const float* weights = weights_.data();
  for (const Filter& filter : filters_) {
    const float* points = spectrum + filter.first_point;
    // One sum per position in the group: independent additions that fit a SIMD register.
    std::array<float, kGroup> sums = {};
    for (size_t group = 0; group < filter.num_groups; ++group) {
      for (size_t i = 0; i < kGroup; ++i) sums[i] += weights[i] * points[i];
      weights += kGroup;
      points += kGroup;
    }
    *output++ = (sums[0] + sums[2]) + (sums[1] + sums[3]);
  }
}

MelFilters KaldiMelFilters(const FbankOptions& options) {
  const int fft_size = options.FftSize();
  const int num_points = fft_size / 2;
  const int num_bins = options.num_mel_bins;
  const float hz_per_point = options.sample_frequency / static_cast<float>(fft_size);
  const float mel_low = KaldiMel(options.low_freq);
  const float mel_step =
      (KaldiMel(options.HighFreqHz()) - mel_low) / static_cast<float>(num_bins + 1);

  MelFilters filters;
  std::vector<float> weights;
  int start = 0;  // no point before it lies in this filter or a later one
  for (int bin = 0; bin < num_bins; ++bin) {
    const float left = mel_low + static_cast<float>(bin) * mel_step;
    const float centre = mel_low + static_cast<float>(bin + 1) * mel_step;
    const float right = mel_low + static_cast<float>(bin + 2) * mel_step;

    weights.clear();
    size_t first_point = 0;
    for (int point = start; point < num_points; ++point) {
      const float mel = KaldiMel(hz_per_point * static_cast<float>(point));
      if (mel <= left) {
        start = point + 1;
        continue;
      }
      if (mel >= right) break;
      if (weights.empty()) first_point = static_cast<size_t>(point);
      weights.push_back(mel <= centre ? (mel - left) / (centre - left)
                                      : (right - mel) / (right - centre));
    }
    if (weights.empty()) {
      std::ostringstream message;
      message << "FbankOptions.num_mel_bins is " << num_bins << ", expected fewer: no point of the "
              << fft_size << "-point FFT at " << options.sample_frequency
              << " Hz lies in mel filter " << bin;
      throw std::invalid_argument(message.str());
    }
    filters.Add(first_point, weights);
  }
  return filters;
}

MelFilters LibrosaMelFilters(const MelSpectrogramOptions& options) {
  const int num_points = options.fft_size / 2;
  const double hz_per_point =
      static_cast<double>(options.sample_frequency) / static_cast<double>(options.fft_size);
  const double mel_low = ToMel(options.mel_scale, static_cast<double>(options.low_freq));
  const double mel_high = ToMel(options.mel_scale, static_cast<double>(options.high_freq));
  const double mel_step = (mel_high - mel_low) / (options.num_mel_bins + 1);
  const auto edge = [&](int i) { return ToHz(options.mel_scale, mel_low + i * mel_step); };

  MelFilters filters;
  std::vector<float> weights;
  for (int bin = 0; bin < options.num_mel_bins; ++bin) {
    const double left = edge(bin);
    const double centre = edge(bin + 1);
    const double right = edge(bin + 2);
    const double height = options.slaney_norm ? 2.0 / (right - left) : 1.0;

    weights.clear();
    size_t first_point = 0;
    for (int point = std::max(0, static_cast<int>(left / hz_per_point)); point < num_points;
         ++point) {
      const double hz = hz_per_point * point;
      const double weight =
          std::min((hz - left) / (centre - left), (right - hz) / (right - centre));
      if (hz >= right) break;
      if (weight <= 0.0) continue;
      if (weights.empty()) first_point = static_cast<size_t>(point);
      weights.push_back(static_cast<float>(weight * height));
    }
    filters.Add(first_point, weights);
  }
  return filters;
}

}  // namespace runnel
