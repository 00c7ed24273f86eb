#include "tools/output_check.h"

#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace runnel {

void CheckOutputIsNoInput(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code ignored;  // a file that cannot be examined is not there
  if (!std::filesystem::is_regular_file(output, ignored)) return;
  for (const std::string& input : inputs) {
    if (std::filesystem::equivalent(output, input, ignored)) {
      throw std::invalid_argument("--output is " + output + ", which is also read (" + input +
                                  "), expected another file");
    }
  }
}

}  // namespace runnel
