#include "encoder/position/sinusoids.h"

#include <cmath>

namespace runnel {
namespace {

constexpr long double kTwoPi = 6.283185307179586476925286766559005768L;

}  // namespace

Sinusoids::Sinusoids(int64_t model_dim) {
  for (int64_t m = 0; m < model_dim / 2; ++m) {
    const long double exponent = -2.0L * static_cast<long double>(m) / model_dim;
    turns_per_frame_.push_back(std::pow(10000.0L, exponent) / kTwoPi);
  }
}

Matrix Sinusoids::Rows(int64_t first, int64_t last) const {
  const int64_t step = first <= last ? 1 : -1;
  const int64_t num_rows = (last - first) * step + 1;
  Matrix rows(DataType::kFloat64, 2 * static_cast<int64_t>(turns_per_frame_.size()), num_rows);
  double* value = rows.rows().float64();
  for (int64_t row = 0; row < num_rows; ++row) {
    const auto position = static_cast<long double>(first + step * row);
    for (const long double frequency : turns_per_frame_) {
      // Whole turns are dropped in extended precision: an angle of millions rounded to float64
      // would be off by 1e-9.
      const long double turns = position * frequency;
      const auto angle = static_cast<double>((turns - std::rint(turns)) * kTwoPi);
      *value++ = std::sin(angle);
      *value++ = std::cos(angle);
    }
  }
  return rows;
}

}  // namespace runnel
