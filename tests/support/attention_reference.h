// One attention module with random weights, and the same computed one pair of frames at a time.
#ifndef RUNNEL_TESTS_SUPPORT_ATTENTION_REFERENCE_H_
#define RUNNEL_TESTS_SUPPORT_ATTENTION_REFERENCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "encoder/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/layer_state.h"
#include "encoder/rows.h"
#include "tests/support/arithmetic.h"
#include "tests/support/pair_formula.h"

namespace runnel::testing {

// (rows, d) float64, standard normal, rounded to float32: the same input for either data type.
Matrix RandomRows(int64_t rows, uint64_t seed);

// True where query i of a chunk attends to key j.
using Visible = std::function<bool(int64_t i, int64_t j)>;

class AttentionReference {
 public:
  // Of the first layer of SmallConfig(position).
  AttentionReference(const std::string& position, const MakeFormula& make_formula,
                     const Arithmetic& arithmetic, const AttentionBias& bias = {});

  // Of a new stream.
  LayerState InitialState() const;

  // The module without the residual connection around it, in float64: (rows, d) -> (rows, d).
  // Rounds x to its data type. Advances the state of each segment.
  Matrix Forward(ConstRows x, const std::vector<Segment>& segments) const;

  // The formula in float64. x: (C, d), whose row 0 is encoder frame `offset`; cached_keys,
  // cached_values: (M', d) of the frames before it. Returns (C, d).
  Matrix Attend(
      ConstRows x, ConstRows cached_keys, ConstRows cached_values, int64_t offset,
      const Visible& visible = [](int64_t, int64_t) { return true; }) const;

  // By the layer of this name ("linear_k"), float64.
  Matrix Linear(ConstRows x, const std::string& name) const;

 private:
  DataType type_;
  std::unique_ptr<const ResidualModule> attention_;
  std::unique_ptr<ModuleWeights> weights_;
  std::unique_ptr<PairFormula> formula_;
};

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_ATTENTION_REFERENCE_H_
