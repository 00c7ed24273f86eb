// What absolute positions add to the input of layer 0, near the start and far from it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/model_file/weights.h"
#include "encoder/position/position_scheme.h"
#include "encoder/rows.h"
#include "tests/support/arithmetic.h"
#include "tests/support/matrices.h"
#include "tests/support/pair_formula.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::Arithmetic;
using testing::FormulaTolerance;
using testing::MatrixOf;
using testing::RelativeError;
using testing::ValueAt;

constexpr char kAbsolute[] = R"({"scheme": "absolute"})";
constexpr int64_t kFarAway = 10000007;

Matrix ByFormula(int64_t first, int64_t num_frames, int64_t dim) {
  std::vector<std::vector<double>> rows;
  for (int64_t i = 0; i < num_frames; ++i) {
    rows.push_back(testing::SinusoidsByFormula(first + i, dim));
  }
  return MatrixOf(DataType::kFloat64, num_frames, dim, [&](int64_t row, int64_t column) {
    return rows[static_cast<size_t>(row)][static_cast<size_t>(column)];
  });
}

TEST(AbsolutePositionTest, IsTheFormula) {
  Weights nothing({}, DataType::kFloat32, "no weights");
  const PositionModules modules = BuildPositions(AbsolutePosition(), &nothing, {"a", "b"}, {18, 3});
  EXPECT_EQ(modules.layers.size(), 2U);
  for (const int64_t first : {int64_t{0}, int64_t{17}, kFarAway, int64_t{1} << 33}) {
    const Matrix rows = modules.input->Rows(first, first + 39);
    EXPECT_EQ(rows.type(), DataType::kFloat64);
    const double tolerance = first > 100 * kFarAway ? 1e-8 : FormulaTolerance(DataType::kFloat64);
    EXPECT_LE(RelativeError(rows, ByFormula(first, 40, 18)), tolerance);
    // Frame by frame, the same bits.
    std::vector<Matrix> single;
    for (int64_t i = 0; i < 40; ++i) {
      single.push_back(modules.input->Rows(first + i, first + i));
    }
    EXPECT_TRUE(testing::EqualBits(testing::Joined(single), rows));
  }
}

// The input of layer 0 when a stream at frame `offset` receives features.
Matrix LayerInput(const std::string& position, const Arithmetic& arithmetic, int64_t offset) {
  const Encoder encoder = testing::RandomEncoder(testing::SmallConfig(position), arithmetic, 5);
  const Matrix features = testing::RandomFeatures(encoder.config(), 67, 6);
  EncoderState state = encoder.InitialState();
  state.offset = offset;
  state.num_frames = offset * encoder.subsampling().rate();
  Matrix input(encoder.data_type(), encoder.config().model_dim);
  encoder.Step({{&state, features.rows().float32(), {features.count(), true}, 4}},
               [&](const std::string& name, ConstRows rows) {
                 if (name == "subsampling") input = Matrix(rows);
               });
  return input;
}

TEST(AbsolutePositionTest, IsAddedToTheFramesOfAStream) {
  for (const Arithmetic& arithmetic : testing::FullPrecision()) {
    SCOPED_TRACE(arithmetic.name);
    const Matrix without = LayerInput(R"({"scheme": "none"})", arithmetic, 0);
    ASSERT_GT(without.count(), 0);
    for (const int64_t offset : {int64_t{0}, int64_t{5}, kFarAway}) {
      const Matrix with = LayerInput(kAbsolute, arithmetic, offset);
      const Matrix added =
          MatrixOf(DataType::kFloat64, with.count(), with.dim(), [&](int64_t row, int64_t column) {
            const int64_t index = row * with.dim() + column;
            return ValueAt(with.rows(), index) - ValueAt(without.rows(), index);
          });
      EXPECT_LE(RelativeError(added, ByFormula(offset, added.count(), added.dim())),
                arithmetic.FromExact());
    }
  }
}

}  // namespace
}  // namespace runnel
