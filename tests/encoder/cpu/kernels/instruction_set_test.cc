// The instruction set is the one that was asked for, or the best below it.
#include "encoder/cpu/kernels/instruction_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace runnel::kernels {
namespace {

// Before any test: limits the kernels of all tests of this program.
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

TEST(InstructionSetTest, RowsOfEightBitsNeedSumsThatHoldThem) {
  EXPECT_TRUE(used.quantized_steps == 255 || used.quantized_steps == 127);
  if (used.dot_products_int8 || used.name == "portable") {
    EXPECT_EQ(used.quantized_steps, 255);
  }
}

}  // namespace
}  // namespace runnel::kernels
