// Attention of one chunk of a stream: per head, three products of small matrices and a softmax.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_ATTENTION_KERNEL_H_
#define RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_ATTENTION_KERNEL_H_

#include <cstdint>

namespace runnel::kernels {

// Values that can be read after the last column of a table of distances.
constexpr int64_t kColumnPadding = 16;

// Which of its scores by distance a pair of query and key gets.
enum class Shift {
  kRelative,  // that of its distance, query frame minus key frame (Dai et al. 2019, appendix B)
  // ESPnet's legacy shift: key j of query i < j gets nothing (j = i + 1), or that of query i + 1 in
  // column j - i - 2. The table has one column per key, and the chunk is a whole utterance.
  kLegacy
};

// Columns of the distances first, first - 1, ... Distances beyond them read the column at that end.
struct DistanceTable {
  const float* columns = nullptr;  // row k of a head at columns + (head * head_rows + k) * stride
  int64_t stride = 0;              // at least num_distances + kColumnPadding
  int64_t num_distances = 0;       // 0: no scores by distance
  int64_t first = 0;
  int64_t head_rows = 0;  // head_dim, or 0 where all heads share their columns
  Shift shift = Shift::kRelative;
};

// Rows by distance that are added to the values, of d_k, for all heads. Distances as above.
struct DistanceValues {
  const float* rows = nullptr;  // (num_distances, d_k), contiguous
  int64_t num_distances = 0;
  int64_t first = 0;
};

// The keys that a query attends to: this many before and after the key of its frame, and that one.
struct KeyWindow {
  int64_t left = -1;   // -1: all
  int64_t right = -1;  // -1: all
};

// One stream's queries, keys and values. Rows hold all heads side by side, (d) each.
struct AttentionRows {
  const float* queries = nullptr;  // row i at queries + i * query_stride
  int64_t query_stride = 0;
  int64_t num_queries = 0;
  const float* const* keys = nullptr;        // pointers to rows, oldest frame first
  const float* const* values = nullptr;      // likewise
  const float* const* key_biases = nullptr;  // likewise, (num_heads) each; null: zero
  int64_t num_keys = 0;
  int64_t first_query = 0;  // index of the key whose frame is that of query 0
  KeyWindow window;
  DistanceTable by_distance;
  DistanceValues values_by_distance;
  float* context = nullptr;  // (num_queries, d), contiguous
  // Rows that the next call will read: a part of them is fetched into the cache meanwhile.
  const float* const* next_keys = nullptr;
  const float* const* next_values = nullptr;
  int64_t num_next_keys = 0;
};

struct AttentionHeads {
  int64_t num_heads = 0;
  int64_t head_dim = 0;                  // d_k
  const float* content_bias = nullptr;   // u: (d), added to the queries for keys; null: zero
  const float* position_bias = nullptr;  // v: (d), added to the queries for distances; null: zero
  float query_scale = 1.0f;              // s, of queries, before the biases are added
  float score_scale = 1.0f;              // t, of the sum of all scores
};

// context = softmax(scores) (values + values by distance), per head;
// scores = ((s q + u) . k + key bias + (s q + v) . column of the distance) t.
// The context of a query has the same bits whatever other queries there are, and whatever keys
// there are outside of its window, if their values are finite. Heads are shared among the threads
// of the step. May be called from several threads at once.
void Attend(const AttentionRows& rows, const AttentionHeads& heads);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_ATTENTION_KERNEL_H_
