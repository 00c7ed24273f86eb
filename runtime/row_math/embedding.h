// The embedding of tokens: one vector per token.
#ifndef RUNNEL_RUNTIME_ROW_MATH_EMBEDDING_H_
#define RUNNEL_RUNTIME_ROW_MATH_EMBEDDING_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "encoder/rows.h"

namespace runnel {

// Immutable.
class Embedding {
 public:
  // table: (tokens, dim), contiguous, of data type `type`.
  Embedding(const at::Tensor& table, DataType type) : table_(type, table.size(1), table.size(0)) {
    std::memcpy(table_.rows().data, table.data_ptr(), table.nbytes());
  }

  int64_t dim() const { return table_.dim(); }

  // Writes the vector of `token` to `to`, which has the table's data type.
  void Copy(int32_t token, void* to) const {
    std::memcpy(to, std::as_const(table_).rows().Part(token, 1).data, num_bytes());
  }
  size_t num_bytes() const { return static_cast<size_t>(dim() * BytesOf(table_.type())); }

 private:
  Matrix table_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ROW_MATH_EMBEDDING_H_
