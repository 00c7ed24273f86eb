// Intel's Advanced Matrix Extensions: tiles of 16 rows of 64 bytes, multiplied by one instruction
// (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18).
#ifndef RUNNEL_ENCODER_CPU_KERNELS_AMX_H_
#define RUNNEL_ENCODER_CPU_KERNELS_AMX_H_

#include <cstdint>

#include "encoder/cpu/kernels/matmul_input.h"

namespace runnel::kernels {

// Rows and outputs that are computed at once.
constexpr int64_t kAmxRows = 32;
constexpr int64_t kAmxOutputs = 32;

// The tiles of a thread are in use while the object lives. The state costs the system time at every
// switch of threads, so it is given up at once.
class AmxTiles {
 public:
  AmxTiles() = default;
  ~AmxTiles();
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  // The sums of `num_rows` (1 to kAmxRows) rows at `x`, `stride` bytes apart, times the weights of
  // kAmxOutputs outputs: (num_rows, kAmxOutputs), float or int32_t. `num_bytes` of a row, a
  // multiple of 64. type: kBfloat16 or kInt8. weights: per 4 bytes of a row 4 bytes of each output.
  // fetches_ahead: the weights are read for the first time, and more follow.
  void Sum(MatmulType type, const uint8_t* x, int64_t stride, int64_t num_rows, int64_t num_bytes,
           const uint8_t* weights, bool fetches_ahead, void* sums);

 private:
  void Configure(int64_t num_rows);

  int64_t num_rows_ = 0;  // of the present configuration
};

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_AMX_H_
