#include "encoder/cpu/kernels/attention_kernel.h"

#include <algorithm>
#include <limits>

#include "encoder/cpu/kernels/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "encoder/cpu/kernels/attention_kernel.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// The next ones are compiled once per instruction set.
#include "encoder/cpu/kernels/exponential-inl.h"
#include "encoder/cpu/kernels/transpose-inl.h"
#include "hwy/highway.h"

// The matrices of a block are stored with one vector per row, whose lanes are the block's queries:
// (head_dim, lanes) queries, (keys, lanes) scores, so that sums over keys or dimensions run down
// the rows and no value ever crosses a lane. Keys and values are read where they lie.
HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Tag = hn::ScalableTag<float>;
using IntTag = hn::ScalableTag<int32_t>;
using Vector = hn::Vec<Tag>;

HWY_INLINE int64_t NumLanes() { return static_cast<int64_t>(hn::Lanes(Tag())); }

// out[r] = sum over k of row_at(r)[k] * columns[k], for kRows rows from `first` on.
template <int kRows, class RowAt>
HWY_INLINE void DotRows(int64_t first, const RowAt& row_at, const float* columns, int64_t count,
                        float* out) {
  const Tag d;
  const int64_t lanes = NumLanes();
  const float* rows[kRows];
  Vector sums[kRows];
  for (int r = 0; r < kRows; ++r) {
    rows[r] = row_at(first + r);
    sums[r] = hn::Zero(d);
  }
  for (int64_t k = 0; k < count; ++k) {
    const Vector column = hn::Load(d, columns + k * lanes);
    for (int r = 0; r < kRows; ++r) sums[r] = hn::MulAdd(hn::Set(d, rows[r][k]), column, sums[r]);
  }
  for (int r = 0; r < kRows; ++r) hn::Store(sums[r], d, out + (first + r) * lanes);
}

template <class RowAt>
HWY_INLINE void DotAllRows(int64_t num_rows, const RowAt& row_at, const float* columns,
                           int64_t count, float* out) {
  int64_t r = 0;
  for (; r + 8 <= num_rows; r += 8) DotRows<8>(r, row_at, columns, count, out);
  for (; r + 2 <= num_rows; r += 2) DotRows<2>(r, row_at, columns, count, out);
  for (; r < num_rows; ++r) DotRows<1>(r, row_at, columns, count, out);
}

// sums[k] = sum over keys of weights[key] * values[key][k], for kColumns columns, scaled.
template <int kColumns>
HWY_INLINE void WeightValues(const float* weights, const float* const* values, int64_t offset,
                             int64_t num_keys, Vector scale, float* out) {
  const Tag d;
  const int64_t lanes = NumLanes();
  Vector sums[kColumns];
  for (int k = 0; k < kColumns; ++k) sums[k] = hn::Zero(d);
  for (int64_t key = 0; key < num_keys; ++key) {
    const Vector weight = hn::Load(d, weights + key * lanes);
    const float* value = values[key] + offset;
    for (int k = 0; k < kColumns; ++k) {
      sums[k] = hn::MulAdd(weight, hn::Set(d, value[k]), sums[k]);
    }
  }
  for (int k = 0; k < kColumns; ++k) hn::Store(hn::Mul(sums[k], scale), d, out + k * lanes);
}

// The queries of a block as columns, (head_dim, lanes), biased for the keys and for the positions.
// Lanes without a query repeat the last one; their results are not used.
HWY_INLINE void TransposeQueries(const float* queries, int64_t stride, int64_t count,
                                 const AttentionHeads& heads, int64_t offset, float* for_keys,
                                 float* for_positions) {
  const Tag d;
  constexpr int64_t kLanes = HWY_LANES(float);
  const Vector scale = hn::Set(d, heads.query_scale);
  const auto store = [&](Vector query, int64_t k) HWY_ATTR {
    const Vector scaled = hn::Mul(query, scale);
    const auto bias = [&](const float* values) HWY_ATTR {
      return hn::Set(d, values == nullptr ? 0.0f : values[offset + k]);
    };
    hn::Store(hn::Add(scaled, bias(heads.content_bias)), d, for_keys + k * kLanes);
    hn::Store(hn::Add(scaled, bias(heads.position_bias)), d, for_positions + k * kLanes);
  };
  int64_t k = 0;
  for (; k + kLanes <= heads.head_dim; k += kLanes) {
    Vector block[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) {
      block[i] = hn::LoadU(d, queries + std::min(i, count - 1) * stride + k);
    }
    TransposeBlock(block);
    for (int64_t j = 0; j < kLanes; ++j) store(block[j], k + j);
  }
  HWY_ALIGN float column[kLanes];
  for (; k < heads.head_dim; ++k) {
    for (int64_t i = 0; i < kLanes; ++i) column[i] = queries[std::min(i, count - 1) * stride + k];
    store(hn::Load(d, column), k);
  }
}

// The opposite for the results: rows of head_dim at `to`, `stride` apart.
HWY_INLINE void TransposeContext(const float* context, int64_t head_dim, int64_t count,
                                 int64_t stride, float* to) {
  const Tag d;
  constexpr int64_t kLanes = HWY_LANES(float);
  int64_t k = 0;
  for (; k + kLanes <= head_dim; k += kLanes) {
    Vector block[kLanes];
    for (int64_t j = 0; j < kLanes; ++j) block[j] = hn::Load(d, context + (k + j) * kLanes);
    TransposeBlock(block);
    for (int64_t i = 0; i < count; ++i) hn::StoreU(block[i], d, to + i * stride + k);
  }
  for (; k < head_dim; ++k) {
    for (int64_t i = 0; i < count; ++i) to[i * stride + k] = context[k * kLanes + i];
  }
}

// Rows of the table that the queries first .. first + count - 1 read, and where key 0 of lane 0
// finds its own among them.
struct TableSlice {
  int64_t begin;
  int64_t size;
  int64_t base;
};
HWY_INLINE TableSlice SliceOf(const DistanceTable& table, int64_t first, int64_t count,
                              int64_t num_keys) {
  const int64_t last_row = table.num_rows - 1;
  const auto clamped = [last_row](int64_t row) {
    return row < 0 ? int64_t{0} : (row > last_row ? last_row : row);
  };
  const int64_t base = table.first - first;  // row of lane 0, key 0
  const int64_t begin = clamped(base - (count - 1));
  const int64_t end = clamped(base + num_keys - 1) + 1;
  return {begin, end - begin, base - begin};
}

// The relative shift of ChunkRPE: query i (lane i) and key j read the row base + j - i of
// `by_distance`. scores[key] = (scores[key] + that row) * scale. Returns the maxima.
HWY_INLINE Vector AddDistanceScores(const float* by_distance, const TableSlice& slice,
                                    int64_t num_keys, float scale, float* scores) {
  const Tag d;
  const IntTag ints;
  const auto lanes = static_cast<int32_t>(NumLanes());
  const auto lane = hn::Iota(ints, 0);
  const auto last = hn::Set(ints, static_cast<int32_t>(slice.size - 1));
  const auto factor = hn::Set(ints, lanes);
  const Vector scales = hn::Set(d, scale);
  Vector highs = hn::Set(d, std::numeric_limits<float>::lowest());
  for (int64_t key = 0; key < num_keys; ++key) {
    const auto unclamped = hn::Sub(hn::Set(ints, static_cast<int32_t>(slice.base + key)), lane);
    const auto row = hn::Min(hn::Max(unclamped, hn::Zero(ints)), last);
    const auto index = hn::Add(hn::Mul(row, factor), lane);
    const Vector sum =
        hn::Add(hn::Load(d, scores + key * lanes), hn::GatherIndex(d, by_distance, index));
    const Vector score = hn::Mul(sum, scales);
    hn::Store(score, d, scores + key * lanes);
    highs = hn::Max(highs, score);
  }
  return highs;
}

HWY_INLINE Vector ScaleScores(int64_t num_keys, float scale, float* scores) {
  const Tag d;
  const int64_t lanes = NumLanes();
  const Vector scales = hn::Set(d, scale);
  Vector highs = hn::Set(d, std::numeric_limits<float>::lowest());
  for (int64_t key = 0; key < num_keys; ++key) {
    const Vector score = hn::Mul(hn::Load(d, scores + key * lanes), scales);
    hn::Store(score, d, scores + key * lanes);
    highs = hn::Max(highs, score);
  }
  return highs;
}

// scores[key] = exp(scores[key] - highs); returns the sums.
HWY_INLINE Vector Exponentiate(Vector highs, int64_t num_keys, float* scores) {
  const Tag d;
  const int64_t lanes = NumLanes();
  Vector sums = hn::Zero(d);
  for (int64_t key = 0; key < num_keys; ++key) {
    const Vector e = Exp(hn::Sub(hn::Load(d, scores + key * lanes), highs));
    hn::Store(e, d, scores + key * lanes);
    sums = hn::Add(sums, e);
  }
  return sums;
}

// Adds the scores of the positions, then scales. Returns the maxima.
HWY_INLINE Vector AddPositionScores(const AttentionRows& rows, const AttentionHeads& heads,
                                    int64_t first, int64_t offset, const float* columns,
                                    float* positions, float* scores) {
  const int64_t width = heads.num_heads * heads.head_dim;
  const int64_t head_dim = heads.head_dim;
  if (rows.by_distance.num_rows > 0) {
    const TableSlice slice =
        SliceOf(rows.by_distance, rows.first_query + first, NumLanes(), rows.num_keys);
    const float* first_row = rows.by_distance.rows + slice.begin * width + offset;
    DotAllRows(
        slice.size, [=](int64_t r) { return first_row + r * width; }, columns, head_dim, positions);
    return AddDistanceScores(positions, slice, rows.num_keys, heads.score_scale, scores);
  }
  if (rows.key_positions != nullptr) {
    DotAllRows(
        rows.num_keys, [&](int64_t key) { return rows.key_positions[key] + offset; }, columns,
        head_dim, positions);
    const Tag d;
    for (int64_t i = 0; i < rows.num_keys * NumLanes(); i += NumLanes()) {
      hn::Store(hn::Add(hn::Load(d, scores + i), hn::Load(d, positions + i)), d, scores + i);
    }
  }
  return ScaleScores(rows.num_keys, heads.score_scale, scores);
}

// Prefetches a head's part of the rows before it is read. The parts lie `width` values apart, so
// the hardware does not prefetch them, and with many streams none of them is in a cache.
HWY_INLINE void PrefetchHead(const float* const* rows, int64_t num_rows, int64_t offset,
                             int64_t head_dim) {
  constexpr int64_t kLineValues = 16;
  for (int64_t r = 0; r < num_rows; ++r) {
    for (int64_t k = 0; k < head_dim; k += kLineValues) {
      __builtin_prefetch(rows[r] + offset + k, 0, 2);  // into the second-level cache
    }
  }
}

void AttendRows(const AttentionRows& rows, const AttentionHeads& heads) {
  const Tag d;
  const int64_t lanes = NumLanes();
  const int64_t head_dim = heads.head_dim;
  const int64_t width = heads.num_heads * head_dim;
  Scratch scratch;
  auto* for_keys = scratch.Take<float>(head_dim * lanes);
  auto* for_positions = scratch.Take<float>(head_dim * lanes);
  auto* scores = scratch.Take<float>(rows.num_keys * lanes);
  auto* positions = scratch.Take<float>((rows.num_keys + lanes) * lanes);
  auto* context = scratch.Take<float>(head_dim * lanes);
  PrefetchHead(rows.keys, rows.num_keys, 0, head_dim);
  for (int64_t first = 0; first < rows.num_queries; first += lanes) {
    const int64_t count = std::min(lanes, rows.num_queries - first);
    for (int64_t offset = 0; offset < width; offset += head_dim) {
      if (first == 0) {
        PrefetchHead(rows.values, rows.num_keys, offset, head_dim);
        if (offset + head_dim < width) {
          PrefetchHead(rows.keys, rows.num_keys, offset + head_dim, head_dim);
        }
      }
      const float* queries = rows.queries + first * rows.query_stride + offset;
      TransposeQueries(queries, rows.query_stride, count, heads, offset, for_keys, for_positions);
      DotAllRows(
          rows.num_keys, [&](int64_t key) { return rows.keys[key] + offset; }, for_keys, head_dim,
          scores);
      const Vector highs =
          AddPositionScores(rows, heads, first, offset, for_positions, positions, scores);
      const Vector sums = Exponentiate(highs, rows.num_keys, scores);
      const Vector scale = hn::Div(hn::Set(d, 1.0f), sums);
      int64_t k = 0;
      for (; k + 8 <= head_dim; k += 8) {
        WeightValues<8>(scores, rows.values, offset + k, rows.num_keys, scale, context + k * lanes);
      }
      for (; k < head_dim; ++k) {
        WeightValues<1>(scores, rows.values, offset + k, rows.num_keys, scale, context + k * lanes);
      }
      TransposeContext(context, head_dim, count, width, rows.context + first * width + offset);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace runnel::kernels {

HWY_EXPORT(AttendRows);

void Attend(const AttentionRows& rows, const AttentionHeads& heads) {
  HWY_DYNAMIC_DISPATCH(AttendRows)(rows, heads);
}

}  // namespace runnel::kernels
#endif  // HWY_ONCE
