// Which instruction set the kernels use.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_KERNELS_INSTRUCTION_SET_H_
#define RUNNEL_ENCODER_KERNELS_INSTRUCTION_SET_H_

#include <string>

namespace runnel::kernels {

struct InstructionSet {
  bool has_products = false;         // false: this build has no fast backend
  bool bfloat16_products = false;    // products of bfloat16 without a detour over float32
  bool exact_int8_products = false;  // uint8 x int8 sums cannot saturate (VNNI)
  // A row of a float product has the same bits whatever the number of rows.
  bool any_number_of_rows = false;
  std::string description;  // for a log, e.g. "oneDNN avx512_core_bf16, Highway AVX3_DL"
};

// What oneDNN finds on this CPU, or ONEDNN_MAX_CPU_ISA allows. The first call limits the small
// operations to the same level. The same for the life of the process; may be called from any
// thread.
const InstructionSet& UsedInstructionSet();

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_KERNELS_INSTRUCTION_SET_H_
