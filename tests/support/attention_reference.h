// One attention module with random weights, and the same computed one pair of frames at a time.
#ifndef RUNNEL_TESTS_SUPPORT_ATTENTION_REFERENCE_H_
#define RUNNEL_TESTS_SUPPORT_ATTENTION_REFERENCE_H_

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "encoder/layer_state.h"
#include "encoder/libtorch/attention.h"
#include "tests/support/pair_formula.h"

namespace runnel::testing {

// (rows, d) float64, standard normal.
at::Tensor RandomRows(int64_t rows, uint64_t seed);

// True where query i of a chunk attends to key j.
using Visible = std::function<bool(int64_t i, int64_t j)>;

class AttentionReference {
 public:
  // Of the first layer of SmallConfig(position).
  AttentionReference(const std::string& position, const MakeFormula& make_formula,
                     at::ScalarType dtype, const AttentionBias& bias = {});

  const libtorch::Attention& attention() const { return *attention_; }

  // A state whose caches hold these rows.
  LayerState State(const at::Tensor& keys, const at::Tensor& values) const;

  // x: (C, d), whose row 0 is encoder frame `offset`; keys, values: (M', d) cached. Returns (C, d),
  // float64.
  at::Tensor Attend(
      const at::Tensor& x, const at::Tensor& cached_keys, const at::Tensor& cached_values,
      int64_t offset, const Visible& visible = [](int64_t, int64_t) { return true; }) const;

  // By the layer of this name, float64.
  at::Tensor Linear(const at::Tensor& x, const std::string& name) const;

 private:
  std::map<std::string, at::Tensor> tensors_;
  std::optional<libtorch::Attention> attention_;
  DataType type_;
  std::unique_ptr<ModuleWeights> weights_;
  std::unique_ptr<PairFormula> formula_;
};

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_ATTENTION_REFERENCE_H_
