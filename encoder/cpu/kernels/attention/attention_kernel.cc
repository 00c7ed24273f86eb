#include "encoder/cpu/kernels/attention/attention_kernel.h"

#include <algorithm>
#include <cstring>

#include "encoder/cpu/kernels/dispatch.h"
#include "encoder/cpu/kernels/scratch.h"
#include "encoder/cpu/kernels/step_threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "encoder/cpu/kernels/attention/attention_kernel.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// The next ones are compiled once per instruction set.
#include "encoder/cpu/kernels/attention/register_tile-inl.h"
#include "encoder/cpu/kernels/attention/softmax-inl.h"
#include "encoder/cpu/kernels/attention/transpose-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using tile::NumLanes;
using tile::Tag;
using tile::Vector;

constexpr int64_t kLineValues = 16;  // float32 values of a cache line
// Values of a head's positions that are fetched ahead at most: 256 KiB, so that they stay in a
// second-level cache of 1 MiB.
constexpr int64_t kMostFetchedValues = int64_t{1} << 16;

// Queries that are computed together.
constexpr int64_t kTileQueries = tile::kRegisters == 32 ? 16 : 12;

// A row length in memory of at least `count` values. Rows are an odd number of cache lines apart,
// so that equal columns of many rows do not fall into the same set of the cache.
HWY_INLINE int64_t PaddedLength(int64_t count) {
  return ((count + kLineValues - 1) / kLineValues | 1) * kLineValues;
}

// Fetches a part of keys and values into the second-level cache while the processor computes.
class Prefetcher {
 public:
  // The values first_value .. first_value + num_values - 1 of each row, in equal shares in
  // `num_steps` calls of Step.
  void Start(const float* const* keys, const float* const* values, int64_t num_rows,
             int64_t first_value, int64_t num_values, int64_t num_steps) {
    keys_ = keys;
    values_ = values;
    num_rows_ = num_rows;
    row_ = 0;
    begin_ = next_ = first_value;
    end_ = first_value + num_values;
    const int64_t num_lines = 2 * num_rows * ((num_values + kLineValues - 1) / kLineValues);
    lines_of_step_ = (num_lines + num_steps - 1) / num_steps;
  }

  HWY_INLINE void Step() {
    for (int64_t i = 0; i < lines_of_step_ && row_ < 2 * num_rows_; ++i) {
      const float* row = row_ < num_rows_ ? keys_[row_] : values_[row_ - num_rows_];
      __builtin_prefetch(row + next_, 0, 2);
      next_ += kLineValues;
      if (next_ < end_) continue;
      next_ = begin_;
      ++row_;
    }
  }

 private:
  const float* const* keys_ = nullptr;
  const float* const* values_ = nullptr;
  int64_t num_rows_ = 0;  // keys, and values
  int64_t row_ = 0;       // the next one: keys, then values
  int64_t begin_ = 0;
  int64_t end_ = 0;
  int64_t next_ = 0;
  int64_t lines_of_step_ = 0;
};

// to[k] = from[k] * scale + bias[k]; bias may be null.
HWY_INLINE void ScaleAndAdd(const float* from, float scale, const float* bias, int64_t count,
                            float* to) {
  const Tag d;
  const Vector factor = hn::Set(d, scale);
  ForEachVector(count, [&](int64_t k, const auto& access) HWY_ATTR {
    const Vector scaled = hn::Mul(access.Load(from + k), factor);
    const Vector sum = bias == nullptr ? scaled : hn::Add(scaled, access.Load(bias + k));
    access.Store(sum, to + k);
  });
}

// Columns of a table by distance that a run of queries reads, of those that its distances name
// (which may lie beyond its ends).
struct Columns {
  int64_t named;  // index of the first one named
  int64_t num_named;
  int64_t begin;  // those in the table
  int64_t end;

  // The queries first .. first + count - 1, counted like keys, over num_keys keys.
  static HWY_INLINE Columns Between(int64_t first_distance, int64_t num_distances, int64_t first,
                                    int64_t count, int64_t num_keys) {
    const auto clamped = [&](int64_t column) {
      return std::clamp<int64_t>(column, 0, num_distances - 1);
    };
    const int64_t named = first_distance - (first + count - 1);
    const int64_t num_named = num_keys + count - 1;
    return {named, num_named, clamped(named), clamped(named + num_named - 1) + 1};
  }

  // Named columns before those in the table.
  HWY_INLINE int64_t num_before() const { return std::clamp<int64_t>(begin - named, 0, num_named); }
};

// Keys begin .. end - 1.
struct KeyRange {
  int64_t begin;
  int64_t end;

  int64_t size() const { return end - begin; }
};

// The rows of a right matrix that lie anywhere. One type, so that their products are compiled once.
struct RowPointers {
  const float* const* rows;
  HWY_INLINE const float* operator()(int64_t row) const { return rows[row]; }
};

// One chunk, head by head, a few queries at a time. All sums over keys or dimensions run in order,
// whatever the tiles are, and lanes are keys or dimensions, never queries. A tile computes the keys
// of all windows of its queries. Weights outside of a query's own window are zeros, which change no
// sum.
class ChunkAttention {
 public:
  ChunkAttention(const AttentionRows& rows, const AttentionHeads& heads)
      : rows_(rows),
        heads_(heads),
        table_(rows.by_distance),
        width_(heads.num_heads * heads.head_dim),
        num_tiles_((rows.num_queries + MaxQueries() - 1) / MaxQueries()),
        key_stride_(PaddedLength(rows.num_keys)),
        query_stride_(PaddedLength(heads.head_dim)),
        score_stride_(PaddedLength(MaxTileKeys() + (has_window() ? kLineValues : 0))),
        position_stride_(PaddedLength(MaxTileKeys() + kTileQueries + kLineValues)) {
    keys_ = scratch_.Take<float>(heads.head_dim * key_stride_);
    values_ = scratch_.Take<const float*>(rows.num_keys);
    if (rows.num_queries > int64_t{2} * tile::kMaxRows) {
      copied_values_ = scratch_.Take<float>(rows.num_keys * heads.head_dim);
    }
    queries_ = scratch_.Take<float>(kTileQueries * query_stride_);
    scores_ = scratch_.Take<float>(kTileQueries * score_stride_);
    if (rows.key_biases != nullptr) biases_ = scratch_.Take<float>(key_stride_ + kLineValues);
    if (table_.num_distances > 0) {
      positions_ = scratch_.Take<float>(kTileQueries * position_stride_);
      if (table_.shift == Shift::kLegacy) {
        shifted_ = scratch_.Take<float>(kTileQueries * score_stride_);
      }
    }
    if (rows.values_by_distance.num_distances > 0) {
      distance_weights_ = scratch_.Take<float>(kTileQueries * position_stride_);
      distance_context_ = scratch_.Take<float>(kTileQueries * query_stride_);
    }
  }

  // The heads first_head .. end_head - 1.
  void Run(int64_t first_head, int64_t end_head) {
    end_head_ = end_head;
    for (int64_t head = first_head; head < end_head; ++head) {
      FetchAfter(head, first_head);
      TransposeKeys(head * heads_.head_dim);
      FindValues(head * heads_.head_dim);
      if (biases_ != nullptr) {
        for (int64_t key = 0; key < rows_.num_keys; ++key) {
          biases_[key] = rows_.key_biases[key][head];
        }
      }
      int64_t first = 0;
      for (int64_t tiles = num_tiles_; tiles > 0; --tiles) {
        const int64_t count = (rows_.num_queries - first + tiles - 1) / tiles;
        AttendTile(head, first, count);
        first += count;
      }
    }
  }

 private:
  // The legacy shift also reads the scores of the query after a tile.
  int64_t MaxQueries() const {
    return table_.shift == Shift::kLegacy ? kTileQueries - 1 : kTileQueries;
  }

  // While a head is computed, fetches what the next one reads: of this call, without the rows of
  // the chunk, which were computed just now, or the first one of the next call.
  void FetchAfter(int64_t head, int64_t first_head) {
    const bool last = head + 1 == end_head_;
    const int64_t next_head = last ? first_head : head + 1;
    const int64_t num_queries = std::min(kTileQueries, rows_.num_queries);
    prefetcher_.Start(last ? rows_.next_keys : rows_.keys, last ? rows_.next_values : rows_.values,
                      last ? rows_.num_next_keys : std::min(rows_.first_query, rows_.num_keys),
                      next_head * heads_.head_dim, heads_.head_dim,
                      heads_.head_dim * num_tiles_ * tile::NumReads(num_queries, MaxTileKeys()));
  }

  bool has_window() const { return rows_.window.left >= 0 || rows_.window.right >= 0; }

  // The keys that a query attends to.
  KeyRange KeysOf(int64_t query) const {
    const KeyWindow& window = rows_.window;
    const int64_t key = rows_.first_query + query;
    return {window.left < 0 ? 0 : std::max<int64_t>(0, key - window.left),
            window.right < 0 ? rows_.num_keys : std::min(rows_.num_keys, key + window.right + 1)};
  }

  // The keys of a tile: those of its queries, from the beginning of a cache line on.
  KeyRange KeysOfTile(int64_t first, int64_t count) const {
    return {KeysOf(first).begin / kLineValues * kLineValues, KeysOf(first + count - 1).end};
  }

  int64_t MaxTileKeys() const {
    const KeyWindow& window = rows_.window;
    if (window.left < 0 || window.right < 0) return rows_.num_keys;
    return std::min(rows_.num_keys, window.left + window.right + kTileQueries + kLineValues);
  }

  // keys_ = the part of the keys from `offset` on, transposed: (head_dim, keys). Lanes beyond the
  // last key repeat it. A function of its own, so that its pointers have registers.
  HWY_NOINLINE void TransposeKeys(int64_t offset) {
    constexpr auto kRows = static_cast<int64_t>(kTransposedRows);
    const int64_t lanes = NumLanes();
    const int64_t end = (rows_.num_keys + lanes - 1) / lanes * lanes;
    for (int64_t key = 0; key < end; key += kRows) {
      const float* const* rows = rows_.keys + key;
      const float* last_rows[kRows];
      if (key + kRows > rows_.num_keys) {
        for (int64_t i = 0; i < kRows; ++i) {
          last_rows[i] = rows_.keys[std::min(key + i, rows_.num_keys - 1)];
        }
        rows = last_rows;
      }
      TransposeRows(rows, offset, heads_.head_dim, keys_ + key, key_stride_);
    }
  }

  // values_[key] = the part of a value from `offset` on. Where many tiles of queries read it, in a
  // copy: rows are often a power of two apart, and few of them fit into the first-level cache then.
  void FindValues(int64_t offset) {
    for (int64_t key = 0; key < rows_.num_keys; ++key) {
      const float* from = rows_.values[key] + offset;
      values_[key] = from;
      if (copied_values_ == nullptr) continue;
      float* to = copied_values_ + key * heads_.head_dim;
      ForEachVector(heads_.head_dim, [&](int64_t i, const auto& access)
                                         HWY_ATTR { access.Store(access.Load(from + i), to + i); });
      values_[key] = to;
    }
  }

  // queries_ = the head's part of `count` queries from `first` on, scaled, plus the bias.
  void TakeQueries(int64_t first, int64_t count, int64_t offset, const float* bias) {
    for (int64_t i = 0; i < count; ++i) {
      ScaleAndAdd(rows_.queries + (first + i) * rows_.query_stride + offset, heads_.query_scale,
                  bias == nullptr ? nullptr : bias + offset, heads_.head_dim,
                  queries_ + i * query_stride_);
    }
  }

  void AttendTile(int64_t head, int64_t first, int64_t count) {
    const int64_t offset = head * heads_.head_dim;
    tile_keys_ = KeysOfTile(first, count);
    TakeQueries(first, count, offset, heads_.content_bias);
    const int64_t key_stride = key_stride_;
    const float* columns = keys_ + tile_keys_.begin;
    tile::MultiplyPadded(count, {queries_, query_stride_},
                         [=](int64_t k) HWY_ATTR {
                           prefetcher_.Step();
                           return columns + k * key_stride;
                         },
                         heads_.head_dim, tile_keys_.size(), {scores_, score_stride_});
    if (table_.num_distances > 0) MultiplyPositions(head, first, count);
    float scales[kTileQueries];
    for (int64_t i = 0; i < count; ++i) scales[i] = 1.0f / ExponentiateRow(first, i);
    AddValues(head, first, count);
    if (distance_weights_ != nullptr) AddDistanceValues(first, count, offset);
    for (int64_t i = 0; i < count; ++i) {
      float* context = rows_.context + (first + i) * width_ + offset;
      ScaleAndAdd(context, scales[i], nullptr, heads_.head_dim, context);
    }
  }

  // Makes weights of the scores of query i of the tile; returns their sum.
  float ExponentiateRow(int64_t first, int64_t i) {
    float* scores = scores_ + i * score_stride_;
    const float* added = AddedScores(i);
    const KeyRange keys = KeysOf(first + i);
    const int64_t begin = keys.begin - tile_keys_.begin;
    const float sum = Exponentiate(added == nullptr ? nullptr : added + begin, heads_.score_scale,
                                   keys.size(), scores + begin);
    std::fill(scores, scores + begin, 0.0f);
    std::fill(scores + begin + keys.size(), scores + tile_keys_.size(), 0.0f);
    return sum;
  }

  // What is added to the scores of query i of the tile; null: nothing.
  const float* AddedScores(int64_t i) const {
    if (positions_ == nullptr) return biases_ == nullptr ? nullptr : biases_ + tile_keys_.begin;
    if (shifted_ != nullptr) return shifted_ + i * score_stride_;
    // The relative shift: query i starts i columns before query 0.
    return positions_ + i * position_stride_ + (shift_ - i);
  }

  // positions_ = the scores by distance of a tile's queries.
  void MultiplyPositions(int64_t head, int64_t first, int64_t count) {
    const bool legacy = table_.shift == Shift::kLegacy;
    const int64_t rows = legacy ? std::min(count + 1, rows_.num_queries - first) : count;
    TakeQueries(first, rows, head * heads_.head_dim, heads_.position_bias);
    const Columns columns = legacy ? Columns{0, rows_.num_keys, 0, rows_.num_keys}
                                   : Columns::Between(table_.first, table_.num_distances,
                                                      rows_.first_query + first - tile_keys_.begin,
                                                      count, tile_keys_.size());
    const float* table = table_.columns + head * table_.head_rows * table_.stride + columns.begin;
    const int64_t stride = table_.stride;
    const int64_t before = columns.num_before();
    const int64_t found = columns.end - columns.begin;
    // The table of a layer has left the caches when the next step reads it. So the rows of the
    // thread's next head are fetched while those of this one are first read.
    const int64_t next_head = table_.head_rows * table_.stride;
    const bool fetches = first == 0 && next_head > 0 && head + 1 < end_head_ &&
                         found * heads_.head_dim <= kMostFetchedValues;
    int64_t rows_to_fetch = fetches ? heads_.head_dim : 0;
    tile::MultiplyPadded(rows, {queries_, query_stride_},
                         [&, table, stride](int64_t k) HWY_ATTR {
                           const float* row = table + k * stride;
                           if (rows_to_fetch > 0) {
                             --rows_to_fetch;
                             for (int64_t c = 0; c < found; c += kLineValues) {
                               __builtin_prefetch(row + next_head + c, 0, 2);
                             }
                           }
                           return row;
                         },
                         heads_.head_dim, found, {positions_ + before, position_stride_});
    if (legacy) return ShiftAsLegacy(first, count);
    shift_ = count - 1;
    for (int64_t i = 0; i < count; ++i) {
      float* scores = positions_ + i * position_stride_;
      std::fill(scores, scores + before, scores[before]);
      if (before + found < columns.num_named) {
        std::fill(scores + before + found, scores + columns.num_named, scores[before + found - 1]);
      }
    }
  }

  void ShiftAsLegacy(int64_t first, int64_t count) {
    const int64_t num_keys = rows_.num_keys;
    for (int64_t i = 0; i < count; ++i) {
      const float* scores = positions_ + i * position_stride_;
      float* shifted = shifted_ + i * score_stride_;
      const int64_t query = first + i;
      std::copy(scores + num_keys - 1 - query, scores + num_keys, shifted);
      if (query + 1 < num_keys) shifted[query + 1] = 0.0f;
      if (query + 2 < num_keys) {
        const float* next = scores + position_stride_;
        std::copy(next, next + num_keys - query - 2, shifted + query + 2);
      }
    }
  }

  // context = scores values, for the tile.
  void AddValues(int64_t head, int64_t first, int64_t count) {
    const int64_t offset = head * heads_.head_dim;
    const int64_t head_dim = heads_.head_dim;
    tile::Multiply(count, {scores_, score_stride_}, RowPointers{values_ + tile_keys_.begin},
                   tile_keys_.size(), head_dim, {rows_.context + first * width_ + offset, width_});
  }

  // Weights are summed per distance first; then the sums are multiplied with the rows.
  void AddDistanceValues(int64_t first, int64_t count, int64_t offset) {
    const DistanceValues& table = rows_.values_by_distance;
    const int64_t num_keys = tile_keys_.size();
    const int64_t first_query = rows_.first_query + first - tile_keys_.begin;
    const Columns used =
        Columns::Between(table.first, table.num_distances, first_query, count, num_keys);
    const int64_t num_used = used.end - used.begin;
    for (int64_t i = 0; i < count; ++i) {
      const float* scores = scores_ + i * score_stride_;
      float* sums = distance_weights_ + i * position_stride_;
      std::fill(sums, sums + num_used, 0.0f);
      const int64_t base = table.first - (first_query + i) - used.begin;  // of key 0
      for (int64_t key = 0; key < num_keys; ++key) {
        sums[std::clamp<int64_t>(base + key, 0, num_used - 1)] += scores[key];
      }
    }
    const float* rows = table.rows + used.begin * heads_.head_dim;
    const int64_t head_dim = heads_.head_dim;
    Scratch scratch;
    auto* pointers = scratch.Take<const float*>(num_used);
    for (int64_t row = 0; row < num_used; ++row) pointers[row] = rows + row * head_dim;
    tile::Multiply(count, {distance_weights_, position_stride_}, RowPointers{pointers}, num_used,
                   head_dim, {distance_context_, query_stride_});
    for (int64_t i = 0; i < count; ++i) {
      float* context = rows_.context + (first + i) * width_ + offset;
      ScaleAndAdd(context, 1.0f, distance_context_ + i * query_stride_, head_dim, context);
    }
  }

  const AttentionRows& rows_;
  const AttentionHeads& heads_;
  const DistanceTable& table_;
  Scratch scratch_;
  int64_t width_;  // d
  int64_t num_tiles_;
  int64_t key_stride_;
  int64_t query_stride_;
  int64_t score_stride_;
  int64_t position_stride_;
  int64_t end_head_ = 0;
  KeyRange tile_keys_ = {0, 0};
  Prefetcher prefetcher_;
  int64_t shift_ = 0;                  // of query 0 of the tile
  float* keys_;                        // (head_dim, key_stride_)
  const float** values_;               // (keys), rows of (head_dim)
  float* copied_values_ = nullptr;     // (keys, head_dim)
  float* queries_;                     // (kTileQueries, query_stride_)
  float* scores_;                      // (kTileQueries, score_stride_), from tile_keys_.begin on
  float* biases_ = nullptr;            // (num_keys) of the head
  float* positions_ = nullptr;         // (kTileQueries, position_stride_)
  float* shifted_ = nullptr;           // (kTileQueries, score_stride_)
  float* distance_weights_ = nullptr;  // (kTileQueries, position_stride_)
  float* distance_context_ = nullptr;  // (kTileQueries, query_stride_)
};

void AttendHeads(const AttentionRows& rows, const AttentionHeads& heads, int64_t first_head,
                 int64_t end_head) {
  ChunkAttention(rows, heads).Run(first_head, end_head);
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace runnel::kernels {

RUNNEL_EXPORT(AttendHeads);

void Attend(const AttentionRows& rows, const AttentionHeads& heads) {
  const int64_t operations = rows.num_queries * rows.num_keys * heads.num_heads * heads.head_dim;
  StepThreads::Split(heads.num_heads, operations, [&](int64_t first_head, int64_t end_head) {
    RUNNEL_DISPATCH(AttendHeads)(rows, heads, first_head, end_head);
  });
}

}  // namespace runnel::kernels
#endif  // HWY_ONCE
