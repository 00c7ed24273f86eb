// The embedding of tokens: one vector per token.
#ifndef RUNNEL_RUNTIME_ROW_MATH_EMBEDDING_H_
#define RUNNEL_RUNTIME_ROW_MATH_EMBEDDING_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "encoder/model_file/tensor.h"
#include "encoder/rows.h"
#include "runtime/row_math/row_math.h"

namespace runnel {

// Immutable. Shares the memory of its table, which may be a mapped file.
class Embedding {
 public:
  // table: (tokens, dim), float32 or float64, with values.
  explicit Embedding(Tensor table) : table_(std::move(table)) {}

  int64_t dim() const { return table_.size(1); }

  // Writes the vector of `token` to `to`, which has the table's data type.
  void Copy(int32_t token, void* to) const {
    std::memcpy(to, TensorRows(table_).Part(token, 1).data, num_bytes());
  }
  size_t num_bytes() const { return static_cast<size_t>(dim() * BytesOf(table_.type())); }

 private:
  Tensor table_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ROW_MATH_EMBEDDING_H_
