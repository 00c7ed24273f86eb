// The small operations of the networks after the encoder, on rows of either data type: float32 by
// the vectorised kernels, float64 by plain loops.
#ifndef RUNNEL_RUNTIME_ROW_MATH_ROW_MATH_H_
#define RUNNEL_RUNTIME_ROW_MATH_ROW_MATH_H_

#include <cstdint>

#include "encoder/activation.h"
#include "encoder/model_file/tensor.h"
#include "encoder/rows.h"

namespace runnel {

// A view of a tensor of float32 or float64 with values: rows as wide as its last dimension. Valid
// as long as the tensor.
ConstRows TensorRows(const Tensor& tensor);

// All matrices of a call have the same data type. Each row is computed on its own.

// gates: (rows, 4 dim), input, forget, cell and output gate before their activations. Advances
// cell, (rows, dim), and writes hidden, (rows, dim). Hochreiter and Schmidhuber 1997, with the
// forget gate of Gers et al. 2000, as in PyTorch.
void AdvanceLstm(ConstRows gates, Rows cell, Rows hidden);

// x = activation(x)
void Activate(Activation activation, Rows x);

// to += x
void AddTo(ConstRows x, Rows to);

// x = log(softmax(x)) over columns first .. first + count - 1 of each row.
void LogSoftmaxColumns(int64_t first, int64_t count, Rows x);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ROW_MATH_ROW_MATH_H_
