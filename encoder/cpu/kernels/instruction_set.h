// The instruction set that the kernels use.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_INSTRUCTION_SET_H_
#define RUNNEL_ENCODER_CPU_KERNELS_INSTRUCTION_SET_H_

#include <cstdint>
#include <string>
#include <vector>

namespace runnel::kernels {

// What a kernel is compiled for, beside the baseline of the compiler (dispatch.h).
enum class KernelVersion { kBaseline, kSsse3, kSse4, kAvx2, kAvx512 };

struct InstructionSet {
  std::string name;  // one of InstructionSetNames
  KernelVersion version = KernelVersion::kBaseline;
  // QuantizedValue times int8, four products added to an int32 without saturation.
  bool dot_products_int8 = false;
  bool dot_products_bfloat16 = false;
  bool tiles = false;  // the matrix multiplications of AMX, int8 and bfloat16
  // The range of a quantised row: its largest minus its smallest value. Where pairs of products of
  // uint8 are summed in 16 bits, 255 could saturate: 127 * 127 * 2 fits.
  int32_t quantized_steps = 255;
};

// The best set that this CPU has, or that the environment variable RUNNEL_INSTRUCTION_SET names: a
// name that the CPU lacks stands for the next lower one that it has. Constant for the life of the
// process; may be called from any thread. Throws std::runtime_error, at each call, if the variable
// holds another name.
const InstructionSet& UsedInstructionSet();

// The names, from the least to the most. The first, "neon" on ARM, "simd128" in WebAssembly and
// "portable" elsewhere, uses nothing that the compiler's target lacks.
const std::vector<std::string>& InstructionSetNames();

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_INSTRUCTION_SET_H_
