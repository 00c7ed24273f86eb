// The triangular mel filters: part of Fbank, not meant for callers outside the frontend.

#ifndef RUNNEL_FRONTEND_MEL_FILTERS_H_
#define RUNNEL_FRONTEND_MEL_FILTERS_H_

#include <cstddef>
#include <vector>

#include "frontend/fbank_options.h"

namespace runnel {

// Filters equally spaced on the scale mel(f) = 1127 ln(1 + f / 700), each rising from its lower
// neighbour's centre to its own and falling to its upper neighbour's, as in Kaldi
// (mel-computations.cc; in single precision, so that filters get the same FFT points).
// Immutable after construction, hence thread-safe.
class MelFilters {
 public:
  // Spectra must be readable for this many values past their end, which must be finite: the weights
  // of a filter are padded with zeros to whole groups of this size.
  static constexpr std::size_t kGroup = 4;

  // Throws std::invalid_argument naming num_mel_bins if a filter holds no FFT point; other fields
  // are expected to be valid.
  explicit MelFilters(const FbankOptions& options);

  // `spectrum`: FftSize() / 2 values, from 0 Hz up, without the Nyquist frequency, then kGroup - 1
  // more (see above). `output`: num_mel_bins values.
  void Apply(const float* spectrum, float* output) const;

 private:
  struct Filter {
    std::size_t first_point;  // FFT point of its first weight
    std::size_t num_groups;   // its weights, in groups
  };

  std::vector<Filter> filters_;
  std::vector<float> weights_;  // all filters' weights, one after the other
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEL_FILTERS_H_
