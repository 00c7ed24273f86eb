// How far two ways of computing the same values may be apart, and why.
#ifndef RUNNEL_TESTS_SUPPORT_TOLERANCES_H_
#define RUNNEL_TESTS_SUPPORT_TOLERANCES_H_

#include <ATen/core/Tensor.h>

namespace runnel::testing {

// All are bounds on RelativeError (tests/support/relative_error.h).

// The same formula in another order of sums (brute force, PyTorch's recorded values, chunk by chunk
// against the whole utterance). float64: sums of some thousand terms near 1 lose under 1e-12, four
// layers under 1e-11. float32: the same with an epsilon of 1.2e-7; what the project promises.
inline double FormulaTolerance(at::ScalarType dtype) { return dtype == at::kDouble ? 1e-10 : 1e-5; }

// A stream beside others in a batch: rows of one product may be rounded differently with more rows
// beside them. What the project promises for encoder frames.
constexpr double kBatchTolerance = 1e-6;

// Scores of hypotheses under the same condition, absolute: sums of some hundred log probabilities.
constexpr double kBatchScoreTolerance = 1e-5;

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_TOLERANCES_H_
