// The fields that a table of options has in a struct of runtime/c_api.h.
#ifndef RUNNEL_TESTS_SUPPORT_OPTION_FIELDS_H_
#define RUNNEL_TESTS_SUPPORT_OPTION_FIELDS_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "tests/support/file_bytes.h"

namespace runnel::testing {

// How many fields of C's struct the rows of a table have. Expects that no two rows have the same.
template <typename Row>
size_t NumOptionFields(const std::vector<Row>& table) {
  std::set<size_t> offsets;
  const typename Row::CValues c = {};
  for (const Row& option : table) {
    std::visit(
        [&](const auto& field) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(field)>, std::monostate>) {
            const auto* const address = reinterpret_cast<const char*>(&(c.*field));
            const auto offset = static_cast<size_t>(address - reinterpret_cast<const char*>(&c));
            EXPECT_TRUE(offsets.insert(offset).second) << option.name;
          }
        },
        option.c_field);
  }
  return offsets.size();
}

// The fields of a struct in the text of runtime/c_api.h, each on a line of its own.
inline size_t NumFieldsInC(const std::string& name) {
  std::istringstream lines(ReadBytes(std::string(RUNNEL_SOURCE_DIR) + "/runtime/c_api.h"));
  std::string line;
  while (std::getline(lines, line) && line != "typedef struct " + name + " {") continue;
  size_t count = 0;
  while (std::getline(lines, line) && line != "} " + name + ";") {
    if (line.find(';') < line.find("/*")) ++count;
  }
  return count;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_OPTION_FIELDS_H_
