// One number for how far two matrices are apart.
#ifndef RUNNEL_TESTS_SUPPORT_RELATIVE_ERROR_H_
#define RUNNEL_TESTS_SUPPORT_RELATIVE_ERROR_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/matrices.h"
#include "tests/support/worst_of.h"

namespace runnel::testing {

// The largest difference, relative to the largest expected value or 1; computed in float64. Takes
// the arguments of RowsOf. Matrices of different shape are a failure, and infinitely far apart; so
// is NaN.
template <class Actual, class Expected>
double RelativeError(const Actual& actual, const Expected& expected) {
  const ConstRows found = RowsOf(actual);
  const ConstRows reference = RowsOf(expected);
  EXPECT_EQ(found.count, reference.count);
  EXPECT_EQ(found.dim, reference.dim);
  if (found.count != reference.count || found.dim != reference.dim) {
    return std::numeric_limits<double>::infinity();
  }
  double difference = 0;
  double largest = 1;
  for (int64_t i = 0; i < reference.count * reference.dim; ++i) {
    const double value = ValueAt(reference, i);
    difference = WorstOf(difference, std::abs(ValueAt(found, i) - value));
    largest = std::max(largest, std::abs(value));
  }
  return difference / largest;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RELATIVE_ERROR_H_
