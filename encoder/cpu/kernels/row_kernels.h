// The small operations of the encoder on rows, vectorised for the instruction set of the CPU.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_ROW_KERNELS_H_
#define RUNNEL_ENCODER_CPU_KERNELS_ROW_KERNELS_H_

#include <cstdint>

#include "encoder/activation.h"
#include "encoder/cpu/kernels/matmul_input.h"

namespace runnel::kernels {

// Every function computes each row on its own, so its bits do not depend on other rows. Matrices
// are row-major and contiguous. All functions may be called from several threads at once. Layer
// norms, StoreRows, Glu and MultiplyByGates share their rows among the threads of a step
// (step_threads.h).

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, over each row. Ba et al. 2016.
struct NormWeights {
  const float* weight;  // (dim)
  const float* bias;    // (dim)
  float epsilon;
};
void LayerNorm(const float* x, int64_t rows, int64_t dim, const NormWeights& norm, float* y);
void LayerNorm(const float* x, int64_t rows, int64_t dim, const NormWeights& norm,
               const MatmulInput& y);

// The same for the second half of each row: (rows, 2 dim) -> (rows, dim).
void LayerNormOfSecondHalf(const float* x, int64_t rows, int64_t dim, const NormWeights& norm,
                           float* y);

// y = x / sqrt(mean of x^2 + epsilon), over each row: icefall's BasicNorm. Zhang and Sennrich 2019,
// without weights.
void BasicNorm(const float* x, int64_t rows, int64_t dim, float epsilon, float* y);

// Copies, rounds or quantises: (rows, y.dim).
void StoreRows(const float* x, int64_t rows, const MatmulInput& y);

// (rows, 2 dim) -> (rows, dim): the first half times the sigmoid of the second (Dauphin et al.
// 2017).
void Glu(const float* x, int64_t rows, int64_t dim, float* y);

// y = the first half of each row of x, times activation(gates): (rows, 2 y.dim) and (rows, y.dim)
// -> (rows, y.dim).
void MultiplyByGates(const float* x, const float* gates, int64_t rows, Activation activation,
                     const MatmulInput& y);

// x = activation(x), over `count` values.
void Activate(Activation activation, int64_t count, float* x);

// One step of an LSTM. gates: (rows, 4 dim), input, forget, cell and output gate before their
// activations. cell: (rows, dim), advanced; hidden: (rows, dim), written. Gers et al. 2000.
void AdvanceLstm(const float* gates, int64_t rows, int64_t dim, float* cell, float* hidden);

// x = x * scale, over `count` values.
void Scale(float scale, int64_t count, float* x);

// x = log(softmax(x)) over each row, in place.
void LogSoftmax(int64_t rows, int64_t dim, float* x);

// Index of the largest of `dim` (at least 1) values, the first of equals; -1 when a value is plus
// infinity or NaN.
int64_t IndexOfMaximum(const float* row, int64_t dim);

// bfloat16 <-> float32, `count` values.
void RoundToBfloat16(const float* x, int64_t count, uint16_t* y);
void WidenBfloat16(const uint16_t* x, int64_t count, float* y);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_ROW_KERNELS_H_
