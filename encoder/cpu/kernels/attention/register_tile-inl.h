// Products of small matrices, a tile of registers at a time. Included once per instruction set
// (Highway).

#include "encoder/cpu/kernels/row_kernels-inl.h"
#include "hwy/highway.h"

#if defined(RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_REGISTER_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_REGISTER_TILE_INL_H_
#undef RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_REGISTER_TILE_INL_H_
#else
#define RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_REGISTER_TILE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {
namespace tile {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vector = hn::Vec<Tag>;

#if HWY_MAX_BYTES == 64
constexpr int kRegisters = 32;
#else
constexpr int kRegisters = 16;
#endif

// Rows of a tile. A tile of r rows and v vectors needs r * v registers for its sums, v for the
// right matrix and one for the left.
constexpr int kMaxRows = kRegisters == 32 ? 12 : 6;
constexpr int MaxVectors(int rows) { return std::min(6, (kRegisters - 1) / (rows + 1)); }

HWY_INLINE int64_t NumLanes() { return static_cast<int64_t>(hn::Lanes(Tag())); }

// A matrix whose row r starts at values + r * stride.
struct LeftMatrix {
  const float* values;
  int64_t stride;
};
struct Result {
  float* values;
  int64_t stride;
};

// result[r][c] = sum over k < count of left[r][k] * right_at(k)[c], for kRows rows and kVectors
// vectors of columns. Each sum runs over k in order, so its bits do not depend on the tile.
template <int kRows, int kVectors, class Access, class RightAt>
HWY_INLINE void MultiplyTile(const LeftMatrix& left, const RightAt& right_at, int64_t count,
                             const Access& access, const Result& result) {
  const Tag d;
  const int64_t lanes = NumLanes();
  // Three rows per pointer: rows need few integer registers then.
  constexpr int kGroups = (kRows + 2) / 3;
  const float* groups[kGroups];
  for (int g = 0; g < kGroups; ++g) groups[g] = left.values + 3 * g * left.stride;
  const int64_t stride = left.stride;
  Vector sums[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (int64_t k = 0; k < count; ++k) {
    const float* right = right_at(k);
    Vector columns[kVectors];
    for (int v = 0; v < kVectors; ++v) columns[v] = access.Load(right + v * lanes);
    for (int r = 0; r < kRows; ++r) {
      const Vector factor = hn::Set(d, groups[r / 3][(r % 3) * stride]);
      for (int v = 0; v < kVectors; ++v) {
        sums[r][v] = hn::MulAdd(factor, columns[v], sums[r][v]);
      }
    }
    for (int g = 0; g < kGroups; ++g) ++groups[g];
  }
  for (int r = 0; r < kRows; ++r) {
    for (int v = 0; v < kVectors; ++v) {
      access.Store(sums[r][v], result.values + r * result.stride + v * lanes);
    }
  }
}

// Calls MultiplyTile with `num_vectors` vectors, kVectors or fewer.
template <int kRows, int kVectors, class RightAt>
HWY_INLINE void MultiplyVectors(int64_t num_vectors, const LeftMatrix& left,
                                const RightAt& right_at, int64_t count, const Result& result) {
  if constexpr (kVectors > 1) {
    if (num_vectors < kVectors) {
      return MultiplyVectors<kRows, kVectors - 1>(num_vectors, left, right_at, count, result);
    }
  }
  MultiplyTile<kRows, kVectors>(left, right_at, count, WholeVector(), result);
}

// The product of kRows rows, in tiles of about equal width. Columns: `num_columns`, in whole
// vectors as far as `whole_columns`, which is a multiple of the lanes.
template <int kRows, class RightAt>
HWY_INLINE void MultiplyRows(const LeftMatrix& left, const RightAt& right_at, int64_t count,
                             int64_t num_columns, int64_t whole_columns, const Result& result) {
  const int64_t lanes = NumLanes();
  const int64_t num_vectors = whole_columns / lanes;
  constexpr int kVectors = MaxVectors(kRows);
  int64_t tiles = (num_vectors + kVectors - 1) / kVectors;
  for (int64_t v = 0; v < num_vectors; --tiles) {
    const int64_t width = (num_vectors - v + tiles - 1) / tiles;
    MultiplyVectors<kRows, kVectors>(width, left,
                                     [&](int64_t k) HWY_ATTR { return right_at(k) + v * lanes; },
                                     count, {result.values + v * lanes, result.stride});
    v += width;
  }
  if (whole_columns < num_columns) {
    MultiplyTile<kRows, 1>(left, [&](int64_t k) HWY_ATTR { return right_at(k) + whole_columns; },
                           count, RestOfRow{num_columns - whole_columns},
                           {result.values + whole_columns, result.stride});
  }
}

// How often MultiplyPadded reads a row of the right matrix.
inline int64_t NumReads(int64_t num_rows, int64_t num_columns) {
  const auto divided = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int64_t row_tiles = divided(num_rows, kMaxRows);
  const auto height = static_cast<int>(divided(num_rows, row_tiles));
  return row_tiles * divided(divided(num_columns, NumLanes()), MaxVectors(height));
}

// Calls body(integral constant) for 1 <= rows <= kRows.
template <int kRows, class Body>
HWY_INLINE void WithRows(int64_t rows, const Body& body) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return WithRows<kRows - 1>(rows, body);
  }
  body(std::integral_constant<int, kRows>());
}

// result[r][c] = sum over k < count of left[r][k] * right_at(k)[c], in tiles of about equal size.
// Columns from `whole_columns` on, less than a vector, are masked.
template <class RightAt>
HWY_INLINE void MultiplyTiles(int64_t num_rows, const LeftMatrix& left, const RightAt& right_at,
                              int64_t count, int64_t num_columns, int64_t whole_columns,
                              const Result& result) {
  int64_t tiles = (num_rows + kMaxRows - 1) / kMaxRows;
  for (int64_t r = 0; r < num_rows; --tiles) {
    const int64_t height = (num_rows - r + tiles - 1) / tiles;
    WithRows<kMaxRows>(height, [&](auto rows) HWY_ATTR {
      MultiplyRows<decltype(rows)::value>({left.values + r * left.stride, left.stride}, right_at,
                                          count, num_columns, whole_columns,
                                          {result.values + r * result.stride, result.stride});
    });
    r += height;
  }
}

// The product of matrices whose rows may be read and written up to a vector beyond the last column.
template <class RightAt>
HWY_INLINE void MultiplyPadded(int64_t num_rows, const LeftMatrix& left, const RightAt& right_at,
                               int64_t count, int64_t num_columns, const Result& result) {
  const int64_t padded = (num_columns + NumLanes() - 1) / NumLanes() * NumLanes();
  MultiplyTiles(num_rows, left, right_at, count, padded, padded, result);
}

// The product without access beyond the last column.
template <class RightAt>
HWY_INLINE void Multiply(int64_t num_rows, const LeftMatrix& left, const RightAt& right_at,
                         int64_t count, int64_t num_columns, const Result& result) {
  const int64_t whole = num_columns / NumLanes() * NumLanes();
  MultiplyTiles(num_rows, left, right_at, count, num_columns, whole, result);
}

}  // namespace tile
}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_REGISTER_TILE_INL_H_
