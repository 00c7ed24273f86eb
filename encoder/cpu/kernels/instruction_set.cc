#include "encoder/cpu/kernels/instruction_set.h"

#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>

namespace runnel::kernels {
namespace {

const char* NameOf(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    default:
      return "above avx512_core_bf16";
  }
}

// Sets of oneDNN are ordered by inclusion, except that avx512_core does not include avx2_vnni.
bool Includes(dnnl::cpu_isa isa, dnnl::cpu_isa part) {
  return (static_cast<unsigned>(isa) & static_cast<unsigned>(part)) == static_cast<unsigned>(part);
}

InstructionSet Detect() {
  // oneDNN might choose AMX for some numbers of rows and not for others. Whether the bits of a
  // bfloat16 matmul depend on that is untested, so AMX is disabled. The call has no effect once a
  // oneDNN primitive exists.
  if (Includes(dnnl::get_effective_cpu_isa(), dnnl::cpu_isa::avx512_core_amx)) {
    dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16);
  }
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  int64_t too_high = 0;
  // Highway's better targets have the lower bits.
  if (!Includes(isa, dnnl::cpu_isa::avx512_core)) too_high |= HWY_AVX2 - 1;
  if (!Includes(isa, dnnl::cpu_isa::avx2)) too_high |= HWY_SSE4 - 1;
  if (too_high != 0) hwy::DisableTargets(too_high);
  const int64_t targets = hwy::SupportedTargets();
  InstructionSet set;
  set.has_matmul = true;
  set.bfloat16_matmul = Includes(isa, dnnl::cpu_isa::avx512_core_bf16);
  set.any_number_of_rows = Includes(isa, dnnl::cpu_isa::avx512_core);
  set.exact_int8_matmul = Includes(isa, dnnl::cpu_isa::avx512_core_vnni);
  set.description = std::string("oneDNN ") + NameOf(isa) + ", Highway " +
                    hwy::TargetName(targets & ~(targets - 1));
  return set;
}

}  // namespace

const InstructionSet& UsedInstructionSet() {
  static const InstructionSet set = Detect();
  return set;
}

}  // namespace runnel::kernels
