// The packed matrices of a model file that holds them.
#ifndef RUNNEL_ENCODER_CPU_STORED_MATRICES_H_
#define RUNNEL_ENCODER_CPU_STORED_MATRICES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "encoder/cpu/kernels/matmul/stored_matrix.h"

namespace runnel::cpu {

// Hands out matrices in the order in which the modules of a model pack theirs. Used from one
// thread, while a model loads. Every method throws std::runtime_error that names the file.
class StoredMatrices {
 public:
  // `source` is the file, for messages.
  StoredMatrices(std::vector<kernels::StoredMatrix> matrices, std::string source);

  // The next matrix, which must have this shape.
  const kernels::StoredMatrix& Take(kernels::LinearShape shape);
  void CheckAllTaken() const;

  bool empty() const { return matrices_.empty(); }

 private:
  std::vector<kernels::StoredMatrix> matrices_;
  size_t num_taken_ = 0;
  std::string source_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_STORED_MATRICES_H_
