#include "encoder/cpu/kernels/instruction_set.h"

#include <hwy/highway.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

#include "platform/processor.h"

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace runnel::kernels {
namespace {

// A level: a version of the kernels, and what it adds to it.
struct Level {
  const char* name;
  KernelVersion version;
  bool (*is_there)();
  bool dot_products_int8;
  bool dot_products_bfloat16;
  bool tiles;
  int32_t quantized_steps;
};

bool Always() { return true; }

#if HWY_ARCH_X86
enum Register { kEax, kEbx, kEcx, kEdx };

constexpr uint32_t Bit(int bit) { return uint32_t{1} << bit; }

// Whether CPUID sets all of these bits. It is asked once: a virtual machine takes long to answer.
template <unsigned kLeaf, unsigned kSubleaf = 0>
bool HasBits(Register place, uint32_t bits) {
  static const auto registers = [] {
    std::array<unsigned, 4> read = {};
    __get_cpuid_count(kLeaf, kSubleaf, &read[kEax], &read[kEbx], &read[kEcx], &read[kEdx]);
    return read;
  }();
  return (registers[place] & bits) == bits;
}

// Whether the system keeps these registers of a thread: bits of XCR0.
bool KeepsRegisters(uint32_t bits) {
  constexpr uint32_t kOsxsave = Bit(27);
  if (!HasBits<1>(kEcx, kOsxsave)) return false;
  uint32_t low = 0, high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & bits) == bits;
}

// What Highway compiles a version with: HWY_TARGET_STR in its set_macros-inl.h. A version may not
// be compiled, where the compiler's baseline is above it.
bool HasSsse3() { return (HWY_TARGETS & HWY_SSSE3) != 0 && HasBits<1>(kEcx, Bit(9)); }
bool HasSse4() {
  constexpr uint32_t kSse41 = Bit(19), kSse42 = Bit(20), kPclmul = Bit(1), kAes = Bit(25);
  return (HWY_TARGETS & HWY_SSE4) != 0 &&
         HasBits<1>(kEcx, Bit(9) | kSse41 | kSse42 | kPclmul | kAes);
}
bool HasAvx2() {
  constexpr uint32_t kAvx = Bit(28), kFma = Bit(12), kF16c = Bit(29);
  constexpr uint32_t kAvx2 = Bit(5), kBmi = Bit(3), kBmi2 = Bit(8);
  constexpr uint32_t kXmmYmm = Bit(1) | Bit(2);
  return (HWY_TARGETS & HWY_AVX2) != 0 && HasBits<1>(kEcx, kAvx | kFma | kF16c) &&
         HasBits<7>(kEbx, kAvx2 | kBmi | kBmi2) && KeepsRegisters(kXmmYmm);
}
bool HasAvx512() {
  constexpr uint32_t kF = Bit(16), kDq = Bit(17), kBw = Bit(30), kVl = Bit(31);
  constexpr uint32_t kMasksZmm = Bit(5) | Bit(6) | Bit(7);
  return (HWY_TARGETS & HWY_AVX3) != 0 && HasAvx2() && HasBits<7>(kEbx, kF | kDq | kBw | kVl) &&
         KeepsRegisters(kMasksZmm);
}
bool HasAvx2Vnni() { return HasAvx2() && HasBits<7, 1>(kEax, Bit(4)); }
bool HasAvx512Vnni() { return HasAvx512() && HasBits<7>(kEcx, Bit(11)); }
bool HasAvx512Bfloat16() { return HasAvx512Vnni() && HasBits<7, 1>(kEax, Bit(5)); }
bool HasAmx() {
  constexpr uint32_t kBfloat16 = Bit(22), kTile = Bit(24), kInt8 = Bit(25);
  return HasAvx512Bfloat16() && HasBits<7>(kEdx, kBfloat16 | kTile | kInt8) && AllowTileRegisters();
}
#elif HWY_ARCH_ARM_A64
bool HasBfloat16() { return HasArmDotProducts() && HasArmBfloat16(); }
#endif

const std::vector<Level>& Levels() {
  constexpr auto kBaseline = KernelVersion::kBaseline;
  static const std::vector<Level> levels = {
#if HWY_ARCH_ARM_A64
    {"neon", kBaseline, Always, false, false, false, 255},
    {"neon_dot", kBaseline, HasArmDotProducts, true, false, false, 255},
    {"neon_bf16", kBaseline, HasBfloat16, true, true, false, 255},
#elif HWY_ARCH_WASM
    {"simd128", kBaseline, Always, false, false, false, 255},
#else
    {"portable", kBaseline, Always, false, false, false, 255},
#endif
#if HWY_ARCH_X86
    {"ssse3", KernelVersion::kSsse3, HasSsse3, false, false, false, 127},
    {"sse4", KernelVersion::kSse4, HasSse4, false, false, false, 127},
    {"avx2", KernelVersion::kAvx2, HasAvx2, false, false, false, 127},
    {"avx2_vnni", KernelVersion::kAvx2, HasAvx2Vnni, true, false, false, 255},
    {"avx512", KernelVersion::kAvx512, HasAvx512, false, false, false, 127},
    {"avx512_vnni", KernelVersion::kAvx512, HasAvx512Vnni, true, false, false, 255},
    {"avx512_bf16", KernelVersion::kAvx512, HasAvx512Bfloat16, true, true, false, 255},
    {"amx", KernelVersion::kAvx512, HasAmx, true, true, true, 255},
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
  while (!Levels()[index].is_there()) --index;
  const Level& level = Levels()[index];
  return {level.name,  level.version,        level.dot_products_int8, level.dot_products_bfloat16,
          level.tiles, level.quantized_steps};
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
