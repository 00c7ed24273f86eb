// The larger of two errors, where NaN is the largest of all: std::max would keep the other one.
#ifndef RUNNEL_TESTS_SUPPORT_WORST_OF_H_
#define RUNNEL_TESTS_SUPPORT_WORST_OF_H_

#include <algorithm>
#include <cmath>
#include <limits>

namespace runnel::testing {

inline double WorstOf(double worst, double error) {
  if (std::isnan(error)) return std::numeric_limits<double>::infinity();
  return std::max(worst, error);
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_WORST_OF_H_
