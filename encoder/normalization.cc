#include "encoder/normalization.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "encoder/encoder_weights.h"

namespace runnel {

void FeatureStatistics::Add(const float* frames, int64_t num_new_frames, int64_t num_bins) {
  if (num_new_frames == 0) return;
  mean.resize(static_cast<size_t>(num_bins), 0.0);
  squares.resize(static_cast<size_t>(num_bins), 0.0);
  const auto added = static_cast<double>(num_new_frames);
  const auto before = static_cast<double>(num_frames);
  const double total = before + added;
  for (int64_t bin = 0; bin < num_bins; ++bin) {
    double sum = 0;
    for (int64_t t = 0; t < num_new_frames; ++t) sum += frames[t * num_bins + bin];
    const double new_mean = sum / added;
    double new_squares = 0;
    for (int64_t t = 0; t < num_new_frames; ++t) {
      const double deviation = frames[t * num_bins + bin] - new_mean;
      new_squares += deviation * deviation;
    }
    double& old_mean = mean[static_cast<size_t>(bin)];
    const double step = new_mean - old_mean;
    squares[static_cast<size_t>(bin)] += new_squares + step * step * before * added / total;
    old_mean += step * added / total;
  }
  num_frames += num_new_frames;
}

namespace {

// Rows (count, mean.size()): (frame - mean) * istd, or the frame itself without a mean.
template <class T>
void NormalizeByWeights(const float* frames, int64_t count, const std::vector<float>& mean,
                        const std::vector<float>& istd, int64_t num_bins, T* out) {
  if (mean.empty()) {
    std::copy(frames, frames + count * num_bins, out);
    return;
  }
  for (int64_t t = 0; t < count; ++t, frames += num_bins, out += num_bins) {
    for (size_t bin = 0; bin < mean.size(); ++bin) {
      out[bin] = (T{frames[bin]} - T{mean[bin]}) * T{istd[bin]};
    }
  }
}

// What the deviations from the mean are divided by. At least one frame.
double Divisor(FeatureDeviation kind, double squares, int64_t num_frames, double epsilon) {
  switch (kind) {
    case FeatureDeviation::kUnbiased:
      return std::sqrt(squares / static_cast<double>(std::max<int64_t>(num_frames - 1, 1))) +
             epsilon;
    case FeatureDeviation::kBiased:
      return std::max(std::sqrt(squares / static_cast<double>(num_frames)), epsilon);
    case FeatureDeviation::kNone:
      break;
  }
  return 1.0;
}

// (frame - mean) / divisor, in float64.
template <class T>
void NormalizeByStatistics(const float* frames, int64_t count, const FeatureStatistics& statistics,
                           FeatureDeviation deviation, double epsilon, int64_t num_bins, T* out) {
  for (int64_t bin = 0; bin < num_bins && count > 0; ++bin) {
    const double mean = statistics.mean[static_cast<size_t>(bin)];
    const double divisor = Divisor(deviation, statistics.squares[static_cast<size_t>(bin)],
                                   statistics.num_frames, epsilon);
    for (int64_t t = 0; t < count; ++t) {
      out[t * num_bins + bin] = static_cast<T>((frames[t * num_bins + bin] - mean) / divisor);
    }
  }
}

}  // namespace

FeatureNormalizer::FeatureNormalizer(const EncoderConfig& config, Weights* weights)
    : by_statistics_(config.normalization == Normalization::kUtterance ||
                     config.normalization == Normalization::kRunning),
      deviation_(config.deviation),
      epsilon_(config.normalization_epsilon) {
  if (config.normalization != Normalization::kGlobalCmvn) return;
  GlobalCmvnWeights bound = BindGlobalCmvn(config, weights);
  mean_ = std::move(bound.mean);
  istd_ = std::move(bound.istd);
}

void FeatureNormalizer::Observe(const float* frames, int64_t num_frames, int64_t num_bins,
                                FeatureStatistics* statistics) const {
  if (by_statistics_) statistics->Add(frames, num_frames, num_bins);
}

void FeatureNormalizer::Normalize(const float* frames, FeatureStatistics* statistics,
                                  Rows out) const {
  Observe(frames, out.count, out.dim, statistics);
  Apply(frames, *statistics, out);
}

void FeatureNormalizer::Apply(const float* frames, const FeatureStatistics& statistics,
                              Rows out) const {
  const auto fill = [&](auto* values) {
    if (by_statistics_) {
      NormalizeByStatistics(frames, out.count, statistics, deviation_, epsilon_, out.dim, values);
    } else {
      NormalizeByWeights(frames, out.count, mean_, istd_, out.dim, values);
    }
  };
  if (out.type == DataType::kFloat64) {
    fill(out.float64());
  } else {
    fill(out.float32());
  }
}

std::vector<float> FeatureNormalizer::MeanFrame(const FeatureStatistics& statistics,
                                                int64_t num_bins) const {
  if (!by_statistics_ && !mean_.empty()) return mean_;
  std::vector<float> frame(static_cast<size_t>(num_bins));
  if (by_statistics_ && statistics.num_frames > 0) {
    std::transform(statistics.mean.begin(), statistics.mean.end(), frame.begin(),
                   [](double mean) { return static_cast<float>(mean); });
  }
  return frame;
}

}  // namespace runnel
