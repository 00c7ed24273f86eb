// How far two ways of computing the same values may be apart, and why.
#ifndef RUNNEL_TESTS_SUPPORT_TOLERANCES_H_
#define RUNNEL_TESTS_SUPPORT_TOLERANCES_H_

#include "encoder/rows.h"

namespace runnel::testing {

// ---- Bounds on RelativeError (tests/support/relative_error.h) ----

// The same formula in another order of sums (brute force, PyTorch's recorded values, chunk by chunk
// against the whole utterance). float64: sums of some thousand terms near 1 lose under 1e-12, four
// layers under 1e-11. float32: the same with an epsilon of 1.2e-7; what the project promises.
constexpr double FormulaTolerance(DataType type) {
  return type == DataType::kFloat64 ? 1e-10 : 1e-5;
}

// A stream beside others in a batch: rows of one matrix multiplication may be rounded differently
// with more rows beside them. What the project promises for encoder frames.
constexpr double kBatchTolerance = 1e-6;

// Scores of hypotheses under the same condition, absolute: sums of some hundred log probabilities.
constexpr double kBatchScoreTolerance = 1e-5;

// ---- Absolute ----

// Features against Kaldi's own and torchaudio's: all three compute in float32, each with another
// FFT; near silence a logarithm magnifies what the power spectrum lost. 1.1e-4 is the most that was
// seen.
constexpr double kKaldiTolerance = 5e-4;

// A resampled sample in [-1, 1], in blocks and in one piece: the same taps, float32.
constexpr double kResamplerTolerance = 1e-5;

// One kernel against its formula in float64, for values around 1. Attention: a softmax (exp to 2
// ulp) over some hundred keys. Matrix multiplications: sums of 70 terms, and what 8 bits of
// mantissa (bfloat16: 2^-9 of each factor) or 255 levels per row of input (int8) leave of them.
constexpr double kAttentionKernelTolerance = 1e-5;
constexpr double kFloat32MatmulTolerance = 1e-4;
constexpr double kBfloat16MatmulTolerance = 0.2;
constexpr double kInt8MatmulTolerance = 0.5;
// LayerNorm in float32 divides by a deviation of few values; times weights around 2.
constexpr double kLayerNormTolerance = 2e-5;
// Times 1 + the value: sigmoids and logarithms of sums, a few ulp; for the depthwise
// convolution, of a sum of products that is not small against what cancelled.
constexpr double kElementwiseTolerance = 1e-6;
constexpr double kDepthwiseTolerance = 1e-4;

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_TOLERANCES_H_
