#include "platform/processor.h"

#if defined(__linux__)
#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#elif defined(__APPLE__)
#include <sys/sysctl.h>

#include <cstddef>
#endif

namespace runnel {

#if defined(__linux__) && defined(__x86_64__)

bool AllowTileRegisters() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

#else

bool AllowTileRegisters() { return false; }

#endif

#if defined(__linux__) && defined(__aarch64__)

bool HasArmDotProducts() { return (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; }
bool HasArmBfloat16() { return (::getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0; }

#elif defined(__APPLE__)

namespace {

bool HasFeature(const char* name) {
  int value = 0;
  size_t size = sizeof(value);
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}

}  // namespace

bool HasArmDotProducts() { return HasFeature("hw.optional.arm.FEAT_DotProd"); }
bool HasArmBfloat16() { return HasFeature("hw.optional.arm.FEAT_BF16"); }

#else

bool HasArmDotProducts() { return false; }
bool HasArmBfloat16() { return false; }

#endif

}  // namespace runnel
