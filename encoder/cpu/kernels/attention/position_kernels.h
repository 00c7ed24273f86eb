// Vector loops for positions of absolute frames.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_POSITION_KERNELS_H_
#define RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_POSITION_KERNELS_H_

#include <cstdint>

namespace runnel::kernels {

// All functions compute each row on its own, so its bits do not depend on other rows. They may be
// called from several threads at once.

// sum = the sines of the angles a + b, then their cosines, from those of a and b: (2 count) each.
// `sum` may be `a` or `b`.
void AddAngles(const float* a, const float* b, int64_t count, float* sum);

// Biases of queries for content and for positions, (num_heads, head_dim) each; null: zero.
struct QueryBiases {
  const float* content;   // u
  const float* position;  // v
  int64_t num_heads;
  int64_t head_dim;
};
// Folds a position into each key. The scores of a key k and its position p,
// (q + u) . k + (q + v) . p, are q . (k + p) + bias with bias = u . k + v . p.
// keys: row i at keys + i * key_stride, replaced by k + p; positions: (rows, d);
// key_biases: (rows, num_heads), written.
void FoldPositions(const QueryBiases& biases, const float* positions, int64_t rows, float* keys,
                   int64_t key_stride, float* key_biases);

// Rotates the pairs of elements m and m + head_dim / 2 of each of `num_heads` heads by the angles
// of `sinusoids`: their head_dim / 2 sines, then their cosines.
void RotateHeads(const float* sinusoids, int64_t num_heads, int64_t head_dim, float* row);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_POSITION_KERNELS_H_
