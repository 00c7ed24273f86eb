#include "encoder/normalization.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cmath>
#include <cstddef>

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

FeatureNormalizer::FeatureNormalizer(Weights* weights, const EncoderConfig& config)
    : by_statistics_(config.normalization == Normalization::kUtterance ||
                     config.normalization == Normalization::kRunning),
      epsilon_(config.normalization_epsilon),
      num_bins_(config.input_dim),
      options_(weights->options()) {
  if (config.normalization != Normalization::kGlobalCmvn) return;
  mean_ = weights->Take("encoder.global_cmvn.mean", {config.input_dim});
  istd_ = weights->Take("encoder.global_cmvn.istd", {config.input_dim});
}

at::Tensor FeatureNormalizer::Forward(const float* frames, int64_t num_frames,
                                      FeatureStatistics* statistics) const {
  if (!by_statistics_) {
    // from_blob takes a pointer to non-const; the rows are only read.
    const at::Tensor rows =
        at::from_blob(const_cast<float*>(frames), {num_frames, num_bins_}, at::kFloat).to(options_);
    return mean_.defined() ? (rows - mean_) * istd_ : rows;
  }
  statistics->Add(frames, num_frames, num_bins_);
  at::Tensor rows = at::empty({num_frames, num_bins_}, at::kDouble);
  auto* out = rows.data_ptr<double>();
  const double freedom =
      statistics->num_frames > 1 ? static_cast<double>(statistics->num_frames - 1) : 1.0;
  for (int64_t bin = 0; bin < num_bins_ && num_frames > 0; ++bin) {
    const double mean = statistics->mean[static_cast<size_t>(bin)];
    const double deviation =
        std::sqrt(statistics->squares[static_cast<size_t>(bin)] / freedom) + epsilon_;
    for (int64_t t = 0; t < num_frames; ++t) {
      out[t * num_bins_ + bin] = (frames[t * num_bins_ + bin] - mean) / deviation;
    }
  }
  return rows.to(options_);
}

}  // namespace runnel
