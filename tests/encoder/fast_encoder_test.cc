// The kernels against the reference: every position scheme and variant, in each precision; and what
// the kernels promise beyond it: the same bits whatever else is computed with a stream.
#include <gtest/gtest.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "encoder/encoder.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {
using testing::RandomEncoder;
TEST(Fast, Basic) {
  EncoderOptions fast;
  fast.backend = EncoderOptions::Backend::kFast;
  for (auto p : {kernels::ProductPrecision::kFloat32, kernels::ProductPrecision::kBfloat16, kernels::ProductPrecision::kInt8}) {
    fast.fast.precision = p;
    const EncoderConfig config = testing::SmallConfig();
    const Encoder reference = RandomEncoder(config, at::kFloat, 1);
    const Encoder encoder = RandomEncoder(config, at::kFloat, 1, fast);
    const at::Tensor features = testing::RandomFeatures(config, 301, 3);
    for (int64_t c : {1, 4, 16, -1}) {
      const at::Tensor a = testing::RunAlone(reference, features, c, 20), b = testing::RunAlone(encoder, features, c, 20);
      std::cout << int(p) << " C " << c << " error " << testing::RelativeError(b, a) << " chunked==mask " << at::equal(b, encoder.ForwardUnderMask(features, c, 20)) << "\n";
    }
  }
}
}  // namespace
}  // namespace runnel
