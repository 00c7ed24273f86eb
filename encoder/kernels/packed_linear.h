// Linear layers on the CPU: oneDNN's matrix product with weights packed once, at load.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_KERNELS_PACKED_LINEAR_H_
#define RUNNEL_ENCODER_KERNELS_PACKED_LINEAR_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "encoder/activation_type.h"
#include "encoder/kernels/product_input.h"

namespace runnel::kernels {

// What becomes of a product.
enum class ProductResult {
  kStore,  // y = activation(x W^T + b)
  kAdd,    // y = y + x W^T + b: a residual connection, without activation
  kInput,  // activation(x W^T + b), as the next product reads it
};

struct LinearShape {
  int64_t input_dim;
  int64_t output_dim;
};

// y = x W^T + b. A row of the result has the same bits whatever other rows there are and wherever
// it stands. oneDNN's AVX-512 kernels, and all of int8, differ with the number of rows in nothing
// that a row's sum depends on (tests/encoder/kernels/packed_linear_test.cc), and the packed layout
// is the same for all; float products below AVX-512 do, and are therefore always made of 16 rows,
// some of them empty. Each product runs in the thread that asks for it. Immutable; Forward may be
// called from several threads at once: it takes a lock only the first time that a number of rows
// occurs.
class PackedLinear {
 public:
  // weight: (output_dim, input_dim); bias: (output_dim), or null for none; neither is kept. Throws
  // std::runtime_error when oneDNN has no such product.
  PackedLinear(const float* weight, const float* bias, LinearShape shape,
               ProductPrecision precision, ProductResult result,
               std::optional<Activation> activation = std::nullopt);
  ~PackedLinear();
  PackedLinear(PackedLinear&&) noexcept;
  PackedLinear& operator=(PackedLinear&&) noexcept;

  const LinearShape& shape() const;

  // x: (rows, input_dim), of this precision; y: (rows, output_dim). For kStore and kAdd.
  void Forward(const ProductInput& x, int64_t rows, float* y) const;
  // The same for kInput.
  void Forward(const ProductInput& x, int64_t rows, const ProductInput& y) const;

 private:
  struct Parts;
  void Multiply(const ProductInput& x, int64_t rows, float* y, const ProductInput* y_input) const;

  std::unique_ptr<Parts> parts_;
};

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_KERNELS_PACKED_LINEAR_H_
