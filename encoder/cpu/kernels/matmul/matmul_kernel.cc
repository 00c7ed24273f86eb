#include "encoder/cpu/kernels/matmul/matmul_kernel.h"

#include <algorithm>
#include <cstring>

#include "encoder/cpu/kernels/amx.h"
#include "encoder/cpu/kernels/dispatch.h"
#include "encoder/cpu/kernels/instruction_set.h"
#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/cpu/kernels/scratch.h"
#include "encoder/cpu/kernels/step_threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "encoder/cpu/kernels/matmul/matmul_kernel.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// The next ones are compiled once per instruction set.
#include "encoder/cpu/kernels/matmul/matmul_products-inl.h"
#include "hwy/highway.h"

// Sums of a tile of rows and outputs stay in registers while a panel's groups pass by. A tile's
// sums then become values: int8 sums are scaled, the bias is added, the activation applied.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_KERNEL_PARTS_
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_KERNEL_PARTS_
namespace runnel::kernels {

// Rows that pass by all panels together, so that they stay in the second-level cache.
constexpr int64_t kBlockRows = 48;
constexpr int64_t kAmxBlockRows = 2 * kAmxRows;
constexpr int64_t kMaxBlockRows = std::max(kBlockRows, kAmxBlockRows);

struct PanelRange {
  int64_t begin;
  int64_t end;
};

}  // namespace runnel::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Tiles of a block of rows at most.
constexpr int64_t kMaxTiles = (kMaxBlockRows + kSmallTileRows - 1) / kSmallTileRows;

// sums: (kRows, kPanelOutputs). One pair of vectors of outputs, from `output` on.
template <class Product, int kRows, Fetch kFetch>
HWY_INLINE void SumTile(const RowBytes& x, const uint8_t* panel, int64_t num_groups, int64_t output,
                        const uint8_t* next_panel, void* sums) {
  const typename Product::Tag d;
  using Sums = hn::Vec<typename Product::Tag>;
  constexpr int64_t kLanes = HWY_LANES(float);
  Sums tile[kRows][2];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) tile[r][0] = tile[r][1] = hn::Zero(d);
  if constexpr (kHasFourBits<Product>) {
    AddFourBitGroups<Product, kRows>(x, panel, num_groups, output, tile);
  } else {
    AddGroups<Product, kRows, kFetch>(x, panel + kGroupBytes * output, num_groups, next_panel,
                                      tile);
  }
  auto* to = static_cast<hn::TFromD<typename Product::Tag>*>(sums) + output;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    hn::StoreU(tile[r][0], d, to + r * kPanelOutputs);
    hn::StoreU(tile[r][1], d, to + r * kPanelOutputs + kLanes);
  }
}

// next_panel: where this tile's share of the next panel begins.
template <class Product, int kRows>
void SumRows(const RowBytes& x, const uint8_t* panel, int64_t num_groups, Fetch fetch,
             const uint8_t* next_panel, void* sums) {
  constexpr int64_t kStep = std::min<int64_t>(2 * HWY_LANES(float), kPanelOutputs);
  for (int64_t output = 0; output < kPanelOutputs; output += kStep) {
    if constexpr (kHasFourBits<Product>) {  // always fetches ahead
      SumTile<Product, kRows, Fetch::kAhead>(x, panel, num_groups, output, nullptr, sums);
    } else {
      switch (fetch) {
        case Fetch::kNothing:
          SumTile<Product, kRows, Fetch::kNothing>(x, panel, num_groups, output, nullptr, sums);
          break;
        case Fetch::kAhead:
          SumTile<Product, kRows, Fetch::kAhead>(x, panel, num_groups, output, nullptr, sums);
          break;
        case Fetch::kNextPanel:
          SumTile<Product, kRows, Fetch::kNextPanel>(x, panel, num_groups, output, next_panel,
                                                     sums);
          next_panel += num_groups * kNextPanelStep;
          break;
      }
    }
  }
}

// The sums of a tile of 1 to Product::kTileRows rows. A function, so that it is chosen once per
// block.
using SumFunction = void (*)(const RowBytes& x, const uint8_t* panel, int64_t num_groups,
                             Fetch fetch, const uint8_t* next_panel, void* sums);

template <class Product, int kRows = Product::kTileRows>
SumFunction SumFunctionFor(int64_t rows) {
  if constexpr (kRows > 1) {
    if (rows < kRows) return SumFunctionFor<Product, kRows - 1>(rows);
  }
  return SumRows<Product, kRows>;
}

struct Tile {
  int64_t first_row;
  int64_t num_rows;
  SumFunction sum;
};

// Fetches what makes values of a panel's sums. It has left the cache since the last step, and a
// panel has too little of it for the processor to see that it is read in order.
HWY_INLINE void FetchScales(const LinearOperation& linear, int64_t first_output) {
  constexpr int64_t kLineOutputs = 16;
  for (int64_t i = first_output; i < first_output + kPanelOutputs; i += kLineOutputs) {
    __builtin_prefetch(linear.bias + i);
    if (linear.type != MatmulType::kInt8) continue;
    __builtin_prefetch(linear.matrix->scales.data() + i);
    __builtin_prefetch(linear.matrix->column_sums.data() + i);
  }
}

// Calls finish(first row, number of rows, first output, sums) for every tile of a block of rows.
template <class Product, class Finish>
HWY_INLINE void ForEachTile(const LinearOperation& linear, const RowBytes& x, int64_t num_rows,
                            PanelRange panels, const Finish& finish) {
  const int64_t panel_bytes =
      PackedPanelBytes(linear.shape.input_dim, linear.type, linear.matrix->format);
  const int64_t row_bytes = kHasFourBits<Product>
                                ? PackedRowBytes(linear.shape.input_dim, linear.type)
                                : linear.shape.input_dim * ValueBytes(linear.type);
  const int64_t num_groups = (row_bytes + kGroupBytes - 1) / kGroupBytes;
  HWY_ALIGN int32_t sums[Product::kTileRows * kPanelOutputs];
  // Tiles of about equal size: a small one reads as many weights as a large one.
  const int64_t num_tiles = (num_rows + Product::kTileRows - 1) / Product::kTileRows;
  Tile tiles[kMaxTiles];
  for (int64_t i = 0; i < num_tiles; ++i) {
    const int64_t first = i * num_rows / num_tiles;
    const int64_t count = (i + 1) * num_rows / num_tiles - first;
    tiles[i] = {first, count, SumFunctionFor<Product>(count)};
  }
  for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
    const uint8_t* weights = linear.matrix->values + panel * panel_bytes;
    const uint8_t* next_panel = weights + panel_bytes;
    FetchScales(linear, panel * kPanelOutputs);
    for (int64_t i = 0; i < num_tiles; ++i) {
      const Tile& tile = tiles[i];
      const Fetch fetch = num_tiles == 1 ? Fetch::kAhead
                          : i < 2        ? Fetch::kNextPanel
                                         : Fetch::kNothing;
      tile.sum({x.row(tile.first_row), x.stride}, weights, num_groups, fetch,
               next_panel + i * panel_bytes / 2, sums);
      finish(tile.first_row, tile.num_rows, panel * kPanelOutputs, static_cast<const void*>(sums));
    }
  }
}

// The same on the tiles of AMX.
template <class Finish>
HWY_INLINE void ForEachAmxTile(const LinearOperation& linear, const RowBytes& x, int64_t num_rows,
                               PanelRange panels, const Finish& finish) {
  const int64_t row_bytes = PackedRowBytes(linear.shape.input_dim, linear.type);
  const int64_t panel_bytes =
      PackedPanelBytes(linear.shape.input_dim, linear.type, linear.matrix->format);
  const bool four_bits = linear.matrix->format == WeightFormat::kFourBits;
  Scratch scratch;
  auto* expanded = four_bits ? scratch.Take<uint8_t>(kPanelOutputs * row_bytes) : nullptr;
  HWY_ALIGN int32_t sums[kAmxRows * kAmxOutputs];
  static_assert(kAmxOutputs == kPanelOutputs);
  AmxTiles tiles;
  for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
    const uint8_t* weights = linear.matrix->values + panel * panel_bytes;
    FetchScales(linear, panel * kPanelOutputs);
    if (four_bits) {
      ExpandFourBitPanel(weights, row_bytes / kFourBitInputs, expanded);
      weights = expanded;
    }
    for (int64_t r = 0; r < num_rows; r += kAmxRows) {
      const int64_t count = std::min(kAmxRows, num_rows - r);
      tiles.Sum(linear.type, x.row(r), x.stride, count, row_bytes, weights, r == 0 && !four_bits,
                sums);
      finish(r, count, panel * kPanelOutputs, static_cast<const void*>(sums));
    }
  }
}

// Turns sums of a vector of outputs into float32.
class FloatSums {
 public:
  FloatSums(const LinearOperation& linear, const MatmulInput& /*x*/, int64_t output)
      : bias_(hn::LoadU(FloatTag(), linear.bias + output)) {}
  HWY_INLINE FloatVector Value(int64_t /*row*/, const void* sums) const {
    return hn::Add(hn::LoadU(FloatTag(), static_cast<const float*>(sums)), bias_);
  }

 private:
  FloatVector bias_;
};
// (sum - zero_point * column_sum) * scale * column_scale + bias. The difference is exact in int32:
// both terms are below 2^31 for rows of up to 65,536 values.
class Int8Sums {
 public:
  Int8Sums(const LinearOperation& linear, const MatmulInput& x, int64_t output)
      : scales_(x.scales),
        zero_points_(x.zero_points),
        bias_(hn::LoadU(FloatTag(), linear.bias + output)),
        column_scale_(hn::LoadU(FloatTag(), linear.matrix->scales.data() + output)),
        column_sum_(hn::LoadU(IntTag(), linear.matrix->column_sums.data() + output)) {}
  HWY_INLINE FloatVector Value(int64_t row, const void* sums) const {
    const FloatTag d;
    const IntTag ints;
    const IntVector sum = hn::LoadU(ints, static_cast<const int32_t*>(sums));
    const IntVector zeros = hn::Mul(hn::Set(ints, zero_points_[row]), column_sum_);
    const FloatVector scale = hn::Mul(hn::Set(d, scales_[row]), column_scale_);
    return hn::MulAdd(hn::ConvertTo(d, hn::Sub(sum, zeros)), scale, bias_);
  }

 private:
  const float* scales_;
  const int32_t* zero_points_;
  FloatVector bias_, column_scale_;
  IntVector column_sum_;
};

// Calls visit(part, row, output, values) for each vector of a tile's values, where part is
// WholeVector or RestOfRow.
template <class Sums, class Function, class Visit>
HWY_INLINE void FinishTile(const LinearOperation& linear, const MatmulInput& x, int64_t first_row,
                           int64_t num_rows, int64_t first_output, const void* sums,
                           const Function& activation, const Visit& visit) {
  const auto* first = static_cast<const uint8_t*>(sums);
  const int64_t count = std::min(kPanelOutputs, linear.shape.output_dim - first_output);
#if HWY_TARGET == HWY_AVX3
  if (count == kPanelOutputs) {  // both vectors of a row, so that its bytes are written together
    constexpr int64_t kLanes = HWY_LANES(float);
    const Sums low(linear, x, first_output);
    const Sums high(linear, x, first_output + kLanes);
    for (int64_t r = 0; r < num_rows; ++r, first += kPanelGroupBytes) {
      const FloatVector lows = activation(low.Value(first_row + r, first));
      const FloatVector highs = activation(high.Value(first_row + r, first + kGroupBytes * kLanes));
      visit(WholeVector(), first_row + r, first_output, lows);
      visit(WholeVector(), first_row + r, first_output + kLanes, highs);
    }
    return;
  }
#endif
  ForEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    const Sums values(linear, x, first_output + i);
    const auto* vector = first + kGroupBytes * i;
    for (int64_t r = first_row; r < first_row + num_rows; ++r) {
      visit(part, r, first_output + i, activation(values.Value(r, vector)));
      vector += kPanelGroupBytes;
    }
  });
}

template <class Product, class Finish>
HWY_INLINE void ForEachInt8Tile(const LinearOperation& linear, const RowBytes& x, int64_t num_rows,
                                PanelRange panels, const Finish& finish) {
  if (linear.matrix->format == WeightFormat::kFourBits) {
    return ForEachTile<FourBitProduct<Product>>(linear, x, num_rows, panels, finish);
  }
  ForEachTile<Product>(linear, x, num_rows, panels, finish);
}

template <class Finish>
HWY_INLINE void ForEachTileOfType(const LinearOperation& linear, const RowBytes& x,
                                  int64_t num_rows, PanelRange panels, const Finish& finish) {
  const InstructionSet& set = UsedInstructionSet();
  if (set.tiles && linear.type != MatmulType::kFloat32) {
    return ForEachAmxTile(linear, x, num_rows, panels, finish);
  }
  switch (linear.type) {
    case MatmulType::kFloat32:
      return ForEachTile<Float32Product>(linear, x, num_rows, panels, finish);
    case MatmulType::kBfloat16:
#if HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_AVX3
      if (set.dot_products_bfloat16) {
        return ForEachTile<DotBfloat16Product>(linear, x, num_rows, panels, finish);
      }
#endif
      return ForEachTile<WidenedBfloat16Product>(linear, x, num_rows, panels, finish);
    case MatmulType::kInt8:
#if HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
      if (set.dot_products_int8) {
        return ForEachInt8Tile<DotInt8Product>(linear, x, num_rows, panels, finish);
      }
#endif
      return ForEachInt8Tile<Int8Product>(linear, x, num_rows, panels, finish);
  }
}

// Multiplies a block of rows, padded by PaddedRows, with some panels, and visits all values as
// FinishTile does.
template <class Visit>
HWY_INLINE void VisitBlock(const LinearOperation& linear, const MatmulInput& x, int64_t num_rows,
                           PanelRange panels, const Visit& visit) {
  const RowBytes rows{static_cast<const uint8_t*>(x.values), x.dim * ValueBytes(x.type)};
  const auto finish = [&](int64_t first_row, int64_t count, int64_t output,
                          const void* sums) HWY_ATTR {
    WithActivation(linear.activation, [&](auto activation) HWY_ATTR {
      if (linear.type == MatmulType::kInt8) {
        FinishTile<Int8Sums>(linear, x, first_row, count, output, sums, activation, visit);
      } else {
        FinishTile<FloatSums>(linear, x, first_row, count, output, sums, activation, visit);
      }
    });
  };
  ForEachTileOfType(linear, rows, num_rows, panels, finish);
}

void MultiplyBlock(const LinearOperation& linear, const MatmulInput& x, int64_t num_rows,
                   PanelRange panels, bool add, float* y) {
  const int64_t stride = linear.shape.output_dim;
  VisitBlock(linear, x, num_rows, panels,
             [=](auto part, int64_t row, int64_t output, FloatVector values) HWY_ATTR {
               float* to = y + row * stride + output;
               part.Store(add ? hn::Add(part.Load(to), values) : values, to);
             });
}

void MultiplyBlockToBfloat16(const LinearOperation& linear, const MatmulInput& x, int64_t num_rows,
                             PanelRange panels, uint16_t* y) {
  const int64_t stride = linear.shape.output_dim;
  VisitBlock(linear, x, num_rows, panels,
             [=](auto part, int64_t row, int64_t output, FloatVector values)
                 HWY_ATTR { StoreBfloat16(part, values, y + row * stride + output); });
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace runnel::kernels {

namespace {

// Rows of the next block when `rows` are left. With AMX a block has whole tiles or just a part of
// one, because another number of rows is another configuration.
int64_t NextBlock(int64_t rows) {
  if (!UsedInstructionSet().tiles) return std::min(kBlockRows, rows);
  return rows < kAmxRows ? rows : std::min(kAmxBlockRows, rows / kAmxRows * kAmxRows);
}

// Rows of whole vectors, or as long as the packed ones, for tiles and for weights of four bits:
// where those of `x` are not, copies filled with zeros.
MatmulInput PaddedRows(const LinearOperation& linear, const MatmulInput& x, int64_t rows,
                       Scratch* scratch) {
  const int64_t num_bytes = x.dim * ValueBytes(x.type);
  const bool as_packed = (UsedInstructionSet().tiles && x.type != MatmulType::kFloat32) ||
                         linear.matrix->format == WeightFormat::kFourBits;
  if (num_bytes % (as_packed ? kPaddedRowBytes : HWY_NAMESPACE::kRowStepBytes) == 0) return x;
  const int64_t padded_bytes = PackedRowBytes(x.dim, x.type);
  MatmulInput padded = x;
  padded.dim = padded_bytes / ValueBytes(x.type);
  auto* copies = scratch->Take<uint8_t>(rows * padded_bytes);
  std::memset(copies, 0, static_cast<size_t>(rows * padded_bytes));
  for (int64_t r = 0; r < rows; ++r) {
    std::memcpy(copies + r * padded_bytes, static_cast<const uint8_t*>(x.values) + r * num_bytes,
                static_cast<size_t>(num_bytes));
  }
  padded.values = copies;
  return padded;
}

}  // namespace

RUNNEL_EXPORT(MultiplyBlock);
RUNNEL_EXPORT(MultiplyBlockToBfloat16);

// Calls multiply(first row, number of rows, rows of x, panels) for all rows, a block at a time, in
// the threads of the step.
template <class Body>
static void ForEachBlock(const LinearOperation& linear, const MatmulInput& x, int64_t rows,
                         const Body& multiply) {
  for (int64_t first = 0; first < rows;) {
    const int64_t count = NextBlock(rows - first);
    Scratch scratch;
    const MatmulInput block = PaddedRows(linear, x.From(first), count, &scratch);
    StepThreads::Split(NumPanels(linear.shape.output_dim),
                       count * linear.shape.input_dim * linear.shape.output_dim,
                       [&](int64_t begin, int64_t end) {
                         multiply(first, count, block, PanelRange{begin, end});
                       });
    first += count;
  }
}

void Multiply(const LinearOperation& linear, const MatmulInput& x, int64_t rows, bool add,
              float* y) {
  ForEachBlock(linear, x, rows,
               [&](int64_t first, int64_t count, const MatmulInput& block, PanelRange panels) {
                 RUNNEL_DISPATCH(MultiplyBlock)
                 (linear, block, count, panels, add, y + first * linear.shape.output_dim);
               });
}

void Multiply(const LinearOperation& linear, const MatmulInput& x, int64_t rows,
              const MatmulInput& y) {
  switch (y.type) {
    case MatmulType::kFloat32:
      return Multiply(linear, x, rows, false, y.float_row(0));
    case MatmulType::kBfloat16:
      return ForEachBlock(
          linear, x, rows,
          [&](int64_t first, int64_t count, const MatmulInput& block, PanelRange panels) {
            RUNNEL_DISPATCH(MultiplyBlockToBfloat16)
            (linear, block, count, panels, y.bfloat16_row(first));
          });
    case MatmulType::kInt8: {  // a row's range is known when all of it is computed
      Scratch scratch;
      auto* values = scratch.Take<float>(NextBlock(rows) * linear.shape.output_dim);
      for (int64_t first = 0; first < rows;) {
        const int64_t count = NextBlock(rows - first);
        Multiply(linear, x.From(first), count, false, values);
        StoreRows(values, count, y.From(first));
        first += count;
      }
    }
  }
}

}  // namespace runnel::kernels
#endif  // HWY_ONCE
