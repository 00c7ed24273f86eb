#include "encoder/cpu/kernels/amx.h"

#include <algorithm>
#include <stdexcept>

namespace runnel::kernels {

#if defined(__x86_64__)
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileBytes = 64;  // of a row
// Four bytes of a row, of kAmxOutputs outputs.
constexpr int64_t kAmxGroupBytes = 4 * kAmxOutputs;

// Weights are fetched this far ahead of their use.
constexpr int64_t kAmxBytesAhead = 8192;

// The operand of LDTILECFG.
struct TileConfiguration {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t bytes_per_row[16] = {};
  uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfiguration) == 64);

// Tiles 0 to 3 hold sums, 4 and 5 rows, 6 and 7 weights. The instructions are spelled out, so that
// nothing else of this program needs a compiler that knows them.
template <bool kIsInt8, bool kIsTall>
void SumTiles(const uint8_t* x, int64_t stride, int64_t num_bytes, const uint8_t* weights,
              bool fetches_ahead, uint8_t* sums) {
  asm volatile(
      "tilezero %%tmm0\n\t"
      "tilezero %%tmm1\n\t" ::
          : "memory");
  if constexpr (kIsTall) {
    asm volatile(
        "tilezero %%tmm2\n\t"
        "tilezero %%tmm3\n\t" ::
            : "memory");
  }
  const uint8_t* const lower = x + kTileRows * stride;
  for (int64_t byte = 0; byte < num_bytes; byte += kTileBytes) {
    const uint8_t* const panel = weights + byte / 4 * kAmxGroupBytes;
    if (fetches_ahead) {
      for (int64_t line = 0; line < 2 * kTileRows; ++line) {
        __builtin_prefetch(panel + kAmxBytesAhead + line * kTileBytes, 0, 2);
      }
    }
    asm volatile(
        "tileloadd (%0,%1,1), %%tmm4\n\t"
        "tileloadd (%2,%4,1), %%tmm6\n\t"
        "tileloadd (%3,%4,1), %%tmm7\n\t" ::"r"(x + byte),
        "r"(stride), "r"(panel), "r"(panel + kTileBytes), "r"(kAmxGroupBytes)
        : "memory");
    if constexpr (kIsInt8) {
      asm volatile(
          "tdpbusd %%tmm6, %%tmm4, %%tmm0\n\t"
          "tdpbusd %%tmm7, %%tmm4, %%tmm1\n\t" ::
              : "memory");
    } else {
      asm volatile(
          "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\t"
          "tdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t" ::
              : "memory");
    }
    if constexpr (kIsTall) {
      asm volatile("tileloadd (%0,%1,1), %%tmm5\n\t" ::"r"(lower + byte), "r"(stride) : "memory");
      if constexpr (kIsInt8) {
        asm volatile(
            "tdpbusd %%tmm6, %%tmm5, %%tmm2\n\t"
            "tdpbusd %%tmm7, %%tmm5, %%tmm3\n\t" ::
                : "memory");
      } else {
        asm volatile(
            "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\t"
            "tdpbf16ps %%tmm7, %%tmm5, %%tmm3\n\t" ::
                : "memory");
      }
    }
  }
  asm volatile(
      "tilestored %%tmm0, (%0,%2,1)\n\t"
      "tilestored %%tmm1, (%1,%2,1)\n\t" ::"r"(sums),
      "r"(sums + kTileBytes), "r"(kAmxGroupBytes)
      : "memory");
  if constexpr (kIsTall) {
    uint8_t* const lower_sums = sums + kTileRows * kAmxGroupBytes;
    asm volatile(
        "tilestored %%tmm2, (%0,%2,1)\n\t"
        "tilestored %%tmm3, (%1,%2,1)\n\t" ::"r"(lower_sums),
        "r"(lower_sums + kTileBytes), "r"(kAmxGroupBytes)
        : "memory");
  }
}

}  // namespace

void AmxTiles::Configure(int64_t num_rows) {
  if (num_rows == num_rows_) return;
  num_rows_ = num_rows;
  const auto upper = static_cast<uint8_t>(std::min(num_rows, kTileRows));
  // A tile must have a row, also where it is not used.
  const auto lower = static_cast<uint8_t>(std::max<int64_t>(num_rows - kTileRows, 1));
  TileConfiguration configuration;
  for (int tile = 0; tile < 8; ++tile) configuration.bytes_per_row[tile] = kTileBytes;
  for (const int tile : {0, 1, 4}) configuration.rows[tile] = upper;
  for (const int tile : {2, 3, 5}) configuration.rows[tile] = lower;
  for (const int tile : {6, 7}) configuration.rows[tile] = kTileRows;
  asm volatile("ldtilecfg %0" ::"m"(configuration) : "memory");
}

AmxTiles::~AmxTiles() {
  if (num_rows_ > 0) asm volatile("tilerelease" ::: "memory");
}

void AmxTiles::Sum(MatmulType type, const uint8_t* x, int64_t stride, int64_t num_rows,
                   int64_t num_bytes, const uint8_t* weights, bool fetches_ahead, void* sums) {
  Configure(num_rows);
  const bool is_tall = num_rows > kTileRows;
  const auto sum = type == MatmulType::kInt8
                       ? (is_tall ? SumTiles<true, true> : SumTiles<true, false>)
                       : (is_tall ? SumTiles<false, true> : SumTiles<false, false>);
  sum(x, stride, num_bytes, weights, fetches_ahead, static_cast<uint8_t*>(sums));
}

#else

// Other processors have no tiles.
AmxTiles::~AmxTiles() = default;
void AmxTiles::Sum(MatmulType /*type*/, const uint8_t* /*x*/, int64_t /*stride*/,
                   int64_t /*num_rows*/, int64_t /*num_bytes*/, const uint8_t* /*weights*/,
                   bool /*fetches_ahead*/, void* /*sums*/) {
  throw std::logic_error("this processor has no tiles");
}

#endif

}  // namespace runnel::kernels
