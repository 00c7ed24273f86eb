// Attention of one chunk of a stream, a few queries at a time, one query per vector lane.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_KERNEL_H_
#define RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_KERNEL_H_

#include <cstdint>

namespace runnel::kernels {

// Rows of the distances first, first - 1, ...: (num_rows, d), all heads side by side. Distances
// beyond them read the row at that end.
struct DistanceTable {
  const float* rows = nullptr;
  int64_t num_rows = 0;
  int64_t first = 0;  // distance (query frame minus key frame) of row 0
};

// One stream's queries, keys and values. Rows hold all heads side by side, (d) each.
struct AttentionRows {
  const float* queries = nullptr;  // row i at queries + i * query_stride
  int64_t query_stride = 0;
  int64_t num_queries = 0;
  const float* const* keys = nullptr;    // pointers to rows, oldest frame first
  const float* const* values = nullptr;  // likewise
  // Rows of positions: one per key, or one per distance, or none (null, no rows).
  const float* const* key_positions = nullptr;
  DistanceTable by_distance;
  int64_t num_keys = 0;
  int64_t first_query = 0;   // index of the key whose frame is that of query 0
  float* context = nullptr;  // (num_queries, d), contiguous
};

struct AttentionHeads {
  int64_t num_heads = 0;
  int64_t head_dim = 0;                  // d_k
  const float* content_bias = nullptr;   // u: (d), added to the queries for keys; null: zero
  const float* position_bias = nullptr;  // v: (d), added to the queries for positions; null: zero
  float query_scale = 1.0f;              // s, of queries, before the biases are added
  float score_scale = 1.0f;              // t, of the sum of both scores
};

// context = softmax(scores) values, per head; scores = ((s q + u) . k + (s q + v) . position) t.
// The context of a query has the same bits whatever other queries there are.
void Attend(const AttentionRows& rows, const AttentionHeads& heads);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_KERNEL_H_
