// What the operating system, not the processor itself, tells about the processor or has to allow.
#ifndef RUNNEL_PLATFORM_PROCESSOR_H_
#define RUNNEL_PLATFORM_PROCESSOR_H_

namespace runnel {

// Asks the system to keep the tile registers of AMX for this process. False where it does not. Only
// for processors of x86 that have them.
bool AllowTileRegisters();

// Of processors of 64-bit ARM; false for others.
bool HasArmDotProducts();  // of int8: FEAT_DotProd
bool HasArmBfloat16();     // FEAT_BF16

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_PROCESSOR_H_
