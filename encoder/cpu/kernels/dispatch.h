// Calls the version of a kernel that was compiled for the instruction set in use. Highway's own
// dispatch needs its library, which measures a timer for 3 ms whenever a program starts.
//
// In a source that Highway includes once per set of instructions, under #if HWY_ONCE:
//   RUNNEL_EXPORT(Function);                 for a function of HWY_NAMESPACE
//   RUNNEL_DISPATCH(Function)(arguments);
#ifndef RUNNEL_ENCODER_CPU_KERNELS_DISPATCH_H_
#define RUNNEL_ENCODER_CPU_KERNELS_DISPATCH_H_

#include <cstddef>

#include "encoder/cpu/kernels/instruction_set.h"

// In the order of KernelVersion. Null for versions that are not compiled, which no processor has.
#define RUNNEL_EXPORT(function)                                                             \
  static constexpr decltype(&HWY_STATIC_DISPATCH(function)) function##Versions[] = {        \
      HWY_CHOOSE_FALLBACK(function), HWY_CHOOSE_SSSE3(function), HWY_CHOOSE_SSE4(function), \
      HWY_CHOOSE_AVX2(function), HWY_CHOOSE_AVX3(function)}

#define RUNNEL_DISPATCH(function) \
  (function##Versions[static_cast<size_t>(runnel::kernels::UsedInstructionSet().version)])

#endif  // RUNNEL_ENCODER_CPU_KERNELS_DISPATCH_H_
