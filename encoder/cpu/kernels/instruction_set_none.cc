// UsedInstructionSet in a build without oneDNN.
#include "encoder/cpu/kernels/instruction_set.h"

namespace runnel::kernels {

const InstructionSet& UsedInstructionSet() {
  static const InstructionSet none;
  return none;
}

}  // namespace runnel::kernels
