// What absolute positions add to the input of layer 0, near the start and far from it.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/libtorch/tensor_rows.h"
#include "encoder/model_file/weights.h"
#include "encoder/position/position_scheme.h"
#include "tests/support/pair_formula.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::FormulaTolerance;
using testing::RelativeError;

constexpr char kAbsolute[] = R"({"scheme": "absolute"})";
constexpr int64_t kFarAway = 10000007;

at::Tensor ByFormula(int64_t first, int64_t num_frames, int64_t dim) {
  at::Tensor rows = at::empty({num_frames, dim}, at::kDouble);
  double* out = rows.data_ptr<double>();
  for (int64_t i = 0; i < num_frames; ++i) {
    for (const double value : testing::SinusoidsByFormula(first + i, dim)) *out++ = value;
  }
  return rows;
}

TEST(AbsolutePositionTest, IsTheFormula) {
  Weights nothing({}, at::kFloat, "no weights");
  const PositionModules modules = BuildPositions(AbsolutePosition(), &nothing, {"a", "b"}, {18, 3});
  EXPECT_EQ(modules.layers.size(), 2U);
  for (const int64_t first : {int64_t{0}, int64_t{17}, kFarAway, int64_t{1} << 33}) {
    const at::Tensor rows = modules.input->Rows(first, first + 39);
    EXPECT_EQ(rows.scalar_type(), at::kDouble);
    const double tolerance = first > 100 * kFarAway ? 1e-8 : FormulaTolerance(at::kDouble);
    EXPECT_LE(RelativeError(rows, ByFormula(first, 40, 18)), tolerance);
    // Frame by frame, the same bits.
    std::vector<at::Tensor> single;
    for (int64_t i = 0; i < 40; ++i) {
      single.push_back(modules.input->Rows(first + i, first + i));
    }
    EXPECT_TRUE(at::equal(at::cat(single), rows));
  }
}

// The input of layer 0 when a stream at frame `offset` receives features.
at::Tensor LayerInput(const std::string& position, at::ScalarType dtype, int64_t offset) {
  const Encoder encoder = testing::RandomEncoder(testing::SmallConfig(position), dtype, 5);
  const at::Tensor features = testing::RandomFeatures(encoder.config(), 67, 6);
  EncoderState state = encoder.InitialState();
  state.offset = offset;
  state.num_frames = offset * encoder.subsampling().rate();
  at::Tensor input;
  encoder.Step({{&state, features.data_ptr<float>(), {features.size(0), true}, 4}},
               [&](const std::string& name, ConstRows rows) {
                 if (name == "subsampling") input = libtorch::View(rows).clone();
               });
  return input;
}

TEST(AbsolutePositionTest, IsAddedToTheFramesOfAStream) {
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    const at::Tensor without = LayerInput(R"({"scheme": "none"})", dtype, 0);
    for (const int64_t offset : {int64_t{0}, int64_t{5}, kFarAway}) {
      const at::Tensor added = LayerInput(kAbsolute, dtype, offset) - without;
      EXPECT_LE(RelativeError(added, ByFormula(offset, added.size(0), added.size(1))),
                FormulaTolerance(dtype));
    }
  }
}

}  // namespace
}  // namespace runnel
