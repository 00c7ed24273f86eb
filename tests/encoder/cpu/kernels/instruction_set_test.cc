// The instruction set is the one that was asked for, or the best below it.
#include "encoder/cpu/kernels/instruction_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace runnel::kernels {
namespace {

const InstructionSet& used = UsedInstructionSet();

TEST(InstructionSetTest, IsNotAboveTheOneThatWasAskedFor) {
  const std::vector<std::string>& names = InstructionSetNames();
  const auto place = std::find(names.begin(), names.end(), used.name);
  ASSERT_NE(place, names.end());
  const char* wanted = std::getenv("RUNNEL_INSTRUCTION_SET");
  if (wanted != nullptr) {
    EXPECT_LE(place - names.begin(), std::find(names.begin(), names.end(), wanted) - names.begin());
  }
}

TEST(InstructionSetTest, KernelsAreThoseOfItsName) {
  const auto begins = [](const std::string& begin) { return used.name.rfind(begin, 0) == 0; };
  const KernelVersion expected = begins("avx512") || begins("amx") ? KernelVersion::kAvx512
                                 : begins("avx2")                  ? KernelVersion::kAvx2
                                 : begins("sse4")                  ? KernelVersion::kSse4
                                 : begins("ssse3")                 ? KernelVersion::kSsse3
                                                                   : KernelVersion::kBaseline;
  EXPECT_EQ(used.version, expected);
}

TEST(InstructionSetTest, RowsOfEightBitsNeedSumsThatHoldThem) {
  EXPECT_TRUE(used.quantized_steps == 255 || used.quantized_steps == 127);
  if (used.dot_products_int8 || used.name == "portable") {
    EXPECT_EQ(used.quantized_steps, 255);
  }
}

}  // namespace
}  // namespace runnel::kernels
