#include "frontend/features/mfcc.h"

#include <cmath>
#include <cstddef>

namespace runnel {
namespace {

constexpr double kPi = 3.14159265358979323846;

// The first rows of the orthonormal cosine transform (DCT-II), each times its lifter.
std::vector<float> CosineTransform(const MfccOptions& options) {
  const int num_bins = options.num_mel_bins;
  const auto lifter = static_cast<double>(options.cepstral_lifter);
  std::vector<float> transform;
  for (int i = 0; i < options.num_ceps; ++i) {
    double factor = std::sqrt((i == 0 ? 1.0 : 2.0) / num_bins);
    if (lifter != 0) factor *= 1 + lifter / 2 * std::sin(kPi * i / lifter);
    for (int bin = 0; bin < num_bins; ++bin) {
      transform.push_back(static_cast<float>(factor * std::cos(kPi / num_bins * (bin + 0.5) * i)));
    }
  }
  return transform;
}

const MfccOptions& Valid(const MfccOptions& options) {
  options.Validate();
  return options;
}

}  // namespace

Mfcc::Mfcc(const MfccOptions& options)
    : FrameExtractor(Fbank::Geometry(Valid(options)), options.num_ceps),
      options_(options),
      fbank_(options),
      transform_(CosineTransform(options)) {}

void Mfcc::ComputeFrame(const float* samples, int64_t frame, FrameScratch* scratch,
                        float* features) const {
  std::vector<float>& columns = scratch->columns_;
  columns.resize(static_cast<size_t>(fbank_.dim()));
  fbank_.ComputeFrame(samples, frame, scratch, columns.data());
  const auto num_bins = static_cast<size_t>(options_.num_mel_bins);
  const float* const bins = columns.data() + (options_.use_energy ? 1 : 0);
  for (size_t i = 0; i < static_cast<size_t>(options_.num_ceps); ++i) {
    const float* const row = transform_.data() + i * num_bins;
    double sum = 0;
    for (size_t bin = 0; bin < num_bins; ++bin) {
      sum += static_cast<double>(row[bin]) * static_cast<double>(bins[bin]);
    }
    features[i] = static_cast<float>(sum);
  }
  if (options_.use_energy) features[0] = columns[0];
}

float Mfcc::Level(const float* features) const {
  if (options_.use_energy) return features[0];
  return features[0] / std::sqrt(static_cast<float>(options_.num_mel_bins));
}

}  // namespace runnel
