// The triangular mel filters: part of the extractors.

#ifndef RUNNEL_FRONTEND_FEATURES_MEL_FILTERS_H_
#define RUNNEL_FRONTEND_FEATURES_MEL_FILTERS_H_

#include <cstddef>
#include <vector>

#include "frontend/features/fbank_options.h"
#include "frontend/features/mel_spectrogram_options.h"

namespace runnel {

// Filters over the points of a spectrum: each a row of weights for points that follow each other.
// Thread rule: Add before the filters are shared; Apply from any number of threads.
class MelFilters {
 public:
  // Spectra must be readable for this many values past their end, which must be finite: the weights
  // of a filter are padded with zeros to whole groups of this size.
  static constexpr size_t kGroup = 4;

  // Adds a filter with `weights` for the points from `first_point` on; none: its output is 0.
  void Add(size_t first_point, const std::vector<float>& weights);

  // `spectrum`: the points, then kGroup - 1 more values (see above). `output`: one value per
  // filter.
  void Apply(const float* spectrum, float* output) const;

  float largest_weight() const { return largest_weight_; }

 private:
  struct Filter {
    size_t first_point;  // FFT point of its first weight
    size_t num_groups;   // its weights, in groups
  };

  std::vector<Filter> filters_;
  std::vector<float> weights_;  // all filters' weights, one after the other
  float largest_weight_ = 0.0F;
};

// Over the points 0 to fft_size / 2 - 1, from 0 Hz up, without the Nyquist frequency, which no
// filter reaches:

// Filters equally spaced on the scale mel(f) = 1127 ln(1 + f / 700), each rising on that scale from
// its lower neighbour's centre to its own and falling to its upper neighbour's, as in Kaldi
// (mel-computations.cc; in single precision, so that filters get the same FFT points). Throws
// std::invalid_argument naming num_mel_bins if a filter holds no FFT point; other fields are
// expected to be valid.
MelFilters KaldiMelFilters(const FbankOptions& options);

// Filters whose centres are equally spaced on options.mel_scale, and which rise and fall linearly
// with the frequency in Hz, as librosa.filters.mel makes them (in double precision). A filter
// between two FFT points has no weights. Expects valid options.
MelFilters LibrosaMelFilters(const MelSpectrogramOptions& options);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_MEL_FILTERS_H_
