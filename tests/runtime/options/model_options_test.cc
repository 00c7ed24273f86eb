// The table of the options of a model: its rows, and what is refused by them.
#include "runtime/options/model_options.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <variant>

#include "runtime/options/option_error.h"
#include "tests/support/error_message.h"
#include "tests/support/option_fields.h"

namespace runnel {
namespace {

using testing::ErrorMessage;
using testing::NumFieldsInC;
using testing::NumOptionFields;

TEST(ModelOptionTable, EveryRowIsWhole) {
  std::set<std::string> names;
  for (const ModelOption& option : ModelOptionTable()) {
    SCOPED_TRACE(option.name);
    EXPECT_TRUE(names.insert(option.name).second);
    EXPECT_TRUE(option.own_flag.empty() || names.insert(option.own_flag).second);
    EXPECT_EQ(option.meaning.back(), '.');
    const bool is_truth = std::holds_alternative<ModelOption::Field<bool>>(option.field);
    EXPECT_TRUE(option.truth_names.empty() || (is_truth && option.truth_names.size() == 2));
    ModelOptions options;
    const OptionValue value = Get(option, options);
    Set(option, value, &options);
    EXPECT_EQ(Get(option, options), value);
  }
  CheckRanges(ModelOptions());
}

// All fields of C's struct but its size, so that none is forgotten.
TEST(ModelOptionTable, CHasAFieldForEachOption) {
  constexpr size_t kOthers = 1;  // struct_size
  EXPECT_EQ(NumOptionFields(ModelOptionTable()), NumFieldsInC("runnel_model_options") - kOthers);
}

TEST(ModelOptionTable, AValueOutOfItsRangeIsRefused) {
  const auto error = [](void (*change)(ModelOptions * options)) {
    ModelOptions options;
    change(&options);
    return ErrorMessage<OptionError>([&] { CheckRanges(options); });
  };
  EXPECT_EQ(error([](ModelOptions* options) { options->step_threads = 0; }),
            "step_threads is 0, expected 1 to 64 threads");
  EXPECT_EQ(error([](ModelOptions* options) { options->step_threads = 65; }),
            "step_threads is 65, expected 1 to 64 threads");
  EXPECT_EQ(error([](ModelOptions* options) { options->precision = static_cast<Precision>(9); }),
            "precision is '9', expected float32, bfloat16, int8, float64, default or int4");
  EXPECT_EQ(error([](ModelOptions* options) { options->backend = static_cast<Backend>(-1); }),
            "backend is '-1', expected default, cpu or libtorch");
}

TEST(ModelOptionTable, AFlagIsNamedAsItIsGiven) {
  EXPECT_EQ(FlagOption("bfloat16_cache", "true"), "--cache_precision=bfloat16");
  EXPECT_EQ(FlagOption("bfloat16_cache", "false"), "--cache_precision=float32");
  EXPECT_EQ(FlagOption("bfloat16_cache", ""), "--cache_precision");
  EXPECT_EQ(FlagOption("units_file", ""), "--units");
  EXPECT_EQ(FlagOption("precision", "float64"), "--precision=float64");
  EXPECT_EQ(FlagOption("dynamic_chunk_convolution", "true"), "--dynamic_chunk_convolution");
}

}  // namespace
}  // namespace runnel
