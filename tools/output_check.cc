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
      std::string message = "--output is ";
      message.append(output).append(", which is also read (").append(input);
      throw std::invalid_argument(message + "), expected another file");
    }
  }
}

}  // namespace runnel
