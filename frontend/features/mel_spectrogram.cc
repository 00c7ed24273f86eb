#include "frontend/features/mel_spectrogram.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "frontend/features/mel_energies.h"
#include "frontend/features/mel_filters.h"
#include "frontend/features/window_function.h"

namespace runnel {
namespace {

// That of torch.blackman_window.
constexpr double kBlackmanCoeff = 0.42;

MelFilters ValidFilters(const MelSpectrogramOptions& options) {
  options.Validate();
  return LibrosaMelFilters(options);
}

FrameGeometry Geometry(const MelSpectrogramOptions& options, const MelFilters& filters) {
  FrameGeometry geometry;
  geometry.sample_frequency = options.sample_frequency;
  geometry.length = options.frame_length;
  geometry.shift = options.frame_shift;
  // The FFT's points begin half of them before the centre, the window behind half of the zeros.
  geometry.first_sample = (options.fft_size - options.frame_length) / 2 - options.fft_size / 2;
  geometry.count_offset = options.last_frame ? options.frame_shift : 0;
  geometry.edge = options.edge;
  geometry.preemph_coeff = options.preemph_coeff;
  // Powers sum to at most the square of fft_size samples, which pre-emphasis makes at most twice as
  // large; another factor of 4 is left for rounding and the guard of the logarithm.
  const float weight = std::max(1.0F, filters.largest_weight());
  geometry.max_magnitude = std::sqrt(std::numeric_limits<float>::max() / weight) /
                           (8.0F * static_cast<float>(options.fft_size));
  return geometry;
}

}  // namespace

MelSpectrogram::MelSpectrogram(const MelSpectrogramOptions& options)
    : MelSpectrogram(options, ValidFilters(options)) {}

MelSpectrogram::MelSpectrogram(const MelSpectrogramOptions& options, const MelFilters& filters)
    : FrameExtractor(Geometry(options, filters), options.num_mel_bins),
      options_(options),
      window_(MakeWindow(options.window_type, static_cast<size_t>(options.frame_length),
                         options.periodic_window, kBlackmanCoeff)),
      mel_energies_(
          std::make_unique<const MelEnergies>(options.fft_size, filters, options.use_power)) {}

MelSpectrogram::~MelSpectrogram() = default;

void MelSpectrogram::ComputeFrame(const float* samples, int64_t /*frame*/, FrameScratch* scratch,
                                  float* features) const {
  float* const window = mel_energies_->Window(scratch);
  for (size_t i = 0; i < window_.size(); ++i) window[i] = samples[i] * window_[i];
  std::fill(window + window_.size(), window + options_.fft_size, 0.0F);
  mel_energies_->Compute(scratch, features);

  const float guard = options_.log_guard_value;
  const bool add = options_.log_guard == LogGuard::kAdd;
  for (int i = 0; i < dim(); ++i) {
    features[i] = std::log(add ? features[i] + guard : std::max(features[i], guard));
  }
}

}  // namespace runnel
