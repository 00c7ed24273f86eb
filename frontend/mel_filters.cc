#include "frontend/mel_filters.h"

#include <array>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace runnel {
namespace {

float Mel(float hz) { return 1127.0F * std::log(1.0F + hz / 700.0F); }

}  // namespace

MelFilters::MelFilters(const FbankOptions& options) {
  const int fft_size = options.FftSize();
  const int num_points = fft_size / 2;
  const int num_bins = options.num_mel_bins;
  const float hz_per_point = options.sample_frequency / static_cast<float>(fft_size);
  const float mel_low = Mel(options.low_freq);
  const float mel_step = (Mel(options.HighFreqHz()) - mel_low) / static_cast<float>(num_bins + 1);

  filters_.reserve(static_cast<std::size_t>(num_bins));
  int start = 0;  // no point before it lies in this filter or a later one
  for (int bin = 0; bin < num_bins; ++bin) {
    const float left = mel_low + static_cast<float>(bin) * mel_step;
    const float centre = mel_low + static_cast<float>(bin + 1) * mel_step;
    const float right = mel_low + static_cast<float>(bin + 2) * mel_step;

    const std::size_t first_weight = weights_.size();
    std::size_t first_point = 0;
    for (int point = start; point < num_points; ++point) {
      const float mel = Mel(hz_per_point * static_cast<float>(point));
      if (mel <= left) {
        start = point + 1;
        continue;
      }
      if (mel >= right) break;
      if (weights_.size() == first_weight) first_point = static_cast<std::size_t>(point);
      weights_.push_back(mel <= centre ? (mel - left) / (centre - left)
                                       : (right - mel) / (right - centre));
    }
    if (weights_.size() == first_weight) {
      std::ostringstream message;
      message << "FbankOptions.num_mel_bins is " << num_bins << ", expected fewer: no point of the "
              << fft_size << "-point FFT at " << options.sample_frequency
              << " Hz lies in mel filter " << bin;
      throw std::invalid_argument(message.str());
    }
    while ((weights_.size() - first_weight) % kGroup != 0) weights_.push_back(0.0F);
    filters_.push_back({first_point, (weights_.size() - first_weight) / kGroup});
  }
}

void MelFilters::Apply(const float* spectrum, float* output) const {
  const float* weights = weights_.data();
  for (const Filter& filter : filters_) {
    const float* points = spectrum + filter.first_point;
    // One sum per position in the group: independent additions that fit a SIMD register.
    std::array<float, kGroup> sums = {};
    for (std::size_t group = 0; group < filter.num_groups; ++group) {
      for (std::size_t i = 0; i < kGroup; ++i) sums[i] += weights[i] * points[i];
      weights += kGroup;
      points += kGroup;
    }
    *output++ = (sums[0] + sums[2]) + (sums[1] + sums[3]);
  }
}

}  // namespace runnel
