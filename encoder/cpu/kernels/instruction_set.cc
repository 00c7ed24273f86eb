#include "encoder/cpu/kernels/instruction_set.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdlib>
#include <stdexcept>

#include "platform/processor.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace runnel::kernels {
namespace {

// A level: the Highway target that it needs, and what it adds to it.
struct Level {
  const char* name;
  int64_t target;
  bool (*is_there)();
  bool dot_products_int8;
  bool dot_products_bfloat16;
  bool tiles;
  int32_t quantized_steps;
};

bool Always() { return true; }

#if HWY_ARCH_X86
// A bit of the registers eax, ebx, ecx, edx (0 to 3) that the instruction CPUID gives for leaf 7.
bool CpuidBit(unsigned subleaf, int index, int bit) {
  unsigned registers[4] = {};
  if (__get_cpuid_count(7, subleaf, &registers[0], &registers[1], &registers[2], &registers[3]) ==
      0) {
    return false;
  }
  return ((registers[index] >> bit) & 1U) != 0;
}
bool HasVnni() { return CpuidBit(0, 2, 11); }
bool HasVexVnni() { return CpuidBit(1, 0, 4); }
bool HasBfloat16() { return HasVnni() && CpuidBit(1, 0, 5); }
bool HasAmx() {
  return HasBfloat16() && CpuidBit(0, 3, 22) && CpuidBit(0, 3, 24) && CpuidBit(0, 3, 25) &&
         AllowTileRegisters();
}
#elif HWY_ARCH_ARM_A64
bool HasBfloat16() { return HasArmDotProducts() && HasArmBfloat16(); }
#endif

const std::vector<Level>& Levels() {
  static const std::vector<Level> levels = {
#if HWY_ARCH_ARM_A64
    {"neon", HWY_STATIC_TARGET, Always, false, false, false, 255},
    {"neon_dot", HWY_STATIC_TARGET, HasArmDotProducts, true, false, false, 255},
    {"neon_bf16", HWY_STATIC_TARGET, HasBfloat16, true, true, false, 255},
#elif HWY_ARCH_WASM
    {"simd128", HWY_STATIC_TARGET, Always, false, false, false, 255},
#else
    {"portable", HWY_STATIC_TARGET, Always, false, false, false, 255},
#endif
#if HWY_ARCH_X86
    {"ssse3", HWY_SSSE3, Always, false, false, false, 127},
    {"sse4", HWY_SSE4, Always, false, false, false, 127},
    {"avx2", HWY_AVX2, Always, false, false, false, 127},
    {"avx2_vnni", HWY_AVX2, HasVexVnni, true, false, false, 255},
    {"avx512", HWY_AVX3, Always, false, false, false, 127},
    {"avx512_vnni", HWY_AVX3, HasVnni, true, false, false, 255},
    {"avx512_bf16", HWY_AVX3, HasBfloat16, true, true, false, 255},
    {"amx", HWY_AVX3, HasAmx, true, true, true, 255},
#endif
  };
  return levels;
}

size_t WantedLevel() {
  const char* name = std::getenv("RUNNEL_INSTRUCTION_SET");
  if (name == nullptr) return Levels().size() - 1;
  std::string names;
  for (size_t i = 0; i < Levels().size(); ++i) {
    if (std::string(Levels()[i].name) == name) return i;
    names += std::string(i == 0 ? "" : ", ") + Levels()[i].name;
  }
  throw std::runtime_error("RUNNEL_INSTRUCTION_SET is '" + std::string(name) +
                           "', expected one of " + names);
}

InstructionSet Detect() {
  size_t index = WantedLevel();
  const int64_t supported = hwy::SupportedTargets();
  const auto is_there = [supported](const Level& level) {
    // Highway's better targets have the lower bits.
    const bool has_target =
        level.target == HWY_STATIC_TARGET || (supported & (2 * level.target - 1)) != 0;
    return has_target && level.is_there();
  };
  while (!is_there(Levels()[index])) --index;
  const Level& level = Levels()[index];
  hwy::DisableTargets(level.target - 1);
  return {level.name, level.dot_products_int8, level.dot_products_bfloat16, level.tiles,
          level.quantized_steps};
}

}  // namespace

const InstructionSet& UsedInstructionSet() {
  static const InstructionSet set = Detect();
  return set;
}

const std::vector<std::string>& InstructionSetNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Level& level : Levels()) all.emplace_back(level.name);
    return all;
  }();
  return names;
}

}  // namespace runnel::kernels
