#include "platform/processor.h"

#include <windows.h>

namespace runnel {

// Windows 11 has EnableProcessOptionalXStateFeatures; nobody has tried it here.
bool AllowTileRegisters() { return false; }

bool HasArmDotProducts() {
  constexpr DWORD kDotProducts = 43;  // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE
  return ::IsProcessorFeaturePresent(kDotProducts) != 0;
}

// No number of a feature tells it.
bool HasArmBfloat16() { return false; }

}  // namespace runnel
