// The rows of a step, and the norms over them, where the kernels compute.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_FAST_FAST_ROWS_H_
#define RUNNEL_ENCODER_FAST_FAST_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "encoder/fast/fast_weights.h"
#include "encoder/kernels/product_input.h"
#include "encoder/kernels/row_kernels.h"
#include "encoder/weights.h"

namespace runnel {

// A view of (count, dim) values.
struct FastRows {
  float* values;
  int64_t count;
  int64_t dim;

  float* row(int64_t index) const { return values + index * dim; }
};

class FastLayerNorm {
 public:
  // Takes <name>.weight and <name>.bias, both (dim).
  FastLayerNorm(Weights* weights, const std::string& name, int64_t dim, double eps)
      : weight_(ValuesOf(weights->Take(name + ".weight", {dim}))),
        bias_(ValuesOf(weights->Take(name + ".bias", {dim}))),
        epsilon_(static_cast<float>(eps)) {}

  kernels::NormWeights weights() const { return {weight_.data(), bias_.data(), epsilon_}; }

  // In place.
  void Apply(const FastRows& x) const {
    kernels::LayerNorm(x.values, x.count, x.dim, weights(), x.values);
  }

 private:
  std::vector<float> weight_;
  std::vector<float> bias_;
  float epsilon_;
};

// Rows first .. first + count - 1, normalised where there is a norm, as a product reads them.
inline kernels::ProductInput NormedInput(const FastRows& x, int64_t first, int64_t count,
                                         const FastLayerNorm* norm,
                                         kernels::ProductPrecision precision,
                                         kernels::Scratch* scratch) {
  const kernels::ProductInput input = kernels::ProductInput::Take(scratch, precision, count, x.dim);
  if (norm != nullptr) {
    kernels::LayerNorm(x.row(first), count, x.dim, norm->weights(), input);
  } else {
    kernels::StoreRows(x.row(first), count, input);
  }
  return input;
}

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_FAST_ROWS_H_
