#include "tools/cli/output_check.h"

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "platform/file_access.h"

namespace runnel {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void FailToCreate(const std::string& output, const std::error_code& error) {
  throw std::runtime_error(output + ": cannot create: " + error.message());
}

// Of a file that need not exist.
fs::file_type TypeOf(const std::string& output, std::error_code* error) {
  return fs::status(fs::u8path(output), *error).type();
}

// Of a file that CheckOutputCanBeWritten has examined.
fs::file_type TypeOf(const std::string& output) {
  std::error_code ignored;
  return TypeOf(output, &ignored);
}

}  // namespace

void CheckOutputIsNoInput(const std::string& output, const std::vector<std::string>& inputs,
                          const std::string& flag) {
  std::error_code ignored;  // an input that cannot be examined is reported by its reader
  const fs::path path = fs::u8path(output);
  if (!fs::is_regular_file(path, ignored)) return;
  for (const std::string& input : inputs) {
    if (fs::equivalent(path, fs::u8path(input), ignored)) {
      std::string message = "--" + flag + " is ";
      message.append(output).append(", which is also read (").append(input);
      throw std::invalid_argument(message + "), expected another file");
    }
  }
}

void CheckOutputCanBeWritten(const std::string& output) {
  if (output.empty() || output == "-") return;
  const auto is_directory = std::make_error_code(std::errc::is_a_directory);
  std::error_code error;
  const fs::file_type type = TypeOf(output, &error);
  if (type == fs::file_type::directory) FailToCreate(output, is_directory);
  if (type != fs::file_type::not_found && type != fs::file_type::none) {
    if ((error = CheckFileWritable(output))) FailToCreate(output, error);
    return;
  }
  if (error && error != std::errc::no_such_file_or_directory) FailToCreate(output, error);
  if (output.back() == '/') FailToCreate(output, is_directory);
  // The file does not exist yet, so the folder must be writable.
  const fs::path parent = fs::u8path(output).parent_path();
  const std::string folder = parent.empty() ? "." : parent.u8string();
  if ((error = CheckFolderWritable(folder))) FailToCreate(output, error);
}

void CheckOutputCanBeRewritten(const std::string& output) {
  CheckOutputCanBeWritten(output);
  bool is_seekable = output != "-";
  if (is_seekable) {
    const fs::file_type type = TypeOf(output);
    is_seekable = type == fs::file_type::regular || type == fs::file_type::not_found ||
                  IsSeekableDevice(output);
  }
  if (is_seekable) return;
  throw std::runtime_error(
      output +
      ": is a pipe or a terminal, expected a file: the number of rows, which is known last, is "
      "written at its beginning");
}

void CheckOutputCanBeReplaced(const std::string& output) {
  CheckOutputCanBeWritten(output);
  const fs::file_type type = TypeOf(output);
  const bool is_other = type != fs::file_type::regular && type != fs::file_type::not_found;
  if (output != "-" && !is_other) return;
  throw std::runtime_error(output + ": is not a regular file, expected one, or a new name");
}

}  // namespace runnel
