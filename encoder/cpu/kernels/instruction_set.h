// The instruction set that the kernels use.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_INSTRUCTION_SET_H_
#define RUNNEL_ENCODER_CPU_KERNELS_INSTRUCTION_SET_H_

#include <string>

namespace runnel::kernels {

struct InstructionSet {
  bool has_matmul = false;         // false: this build has no CPU backend
  bool bfloat16_matmul = false;    // the CPU multiplies bfloat16; otherwise float32 does
  bool exact_int8_matmul = false;  // sums of uint8 times int8 cannot saturate (VNNI)
  // A row of a float matmul has the same bits whatever the number of rows.
  bool any_number_of_rows = false;
  std::string description;  // for a log, e.g. "oneDNN avx512_core_bf16, Highway AVX3_DL"
};

// The set that oneDNN finds on this CPU and ONEDNN_MAX_CPU_ISA allows. The first call limits the
// Highway kernels to the same level. Constant for the life of the process; may be called from any
// thread.
const InstructionSet& UsedInstructionSet();

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_INSTRUCTION_SET_H_
