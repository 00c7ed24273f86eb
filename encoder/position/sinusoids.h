// Sinusoids of frame numbers or distances, the input of every scheme that has no learned table.
#ifndef RUNNEL_ENCODER_POSITION_SINUSOIDS_H_
#define RUNNEL_ENCODER_POSITION_SINUSOIDS_H_

#include <cstdint>
#include <vector>

#include "encoder/rows.h"

namespace runnel {

// PE(p)[2m] = sin(p w_m), PE(p)[2m+1] = cos(p w_m), w_m = 10000^(-2m/d) (Vaswani et al. 2017,
// section 3.5). Accurate to 1e-10 for positions to either side of zero beyond 10^8 (45 days at
// 40 ms), because the angle is reduced before it is rounded to float64. Const after construction.
class Sinusoids {
 public:
  // model_dim: d, even.
  explicit Sinusoids(int64_t model_dim);

  // (n, d), kFloat64: positions first, ..., last, counting up or down. A row does not depend on
  // which others are asked for.
  Matrix Rows(int64_t first, int64_t last) const;

 private:
  std::vector<long double> turns_per_frame_;  // w_m / (2 pi)
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_SINUSOIDS_H_
