#include "tools/cli/token_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace runnel {

std::string ReadToken(const std::string& path) {
  constexpr char kBlanks[] = " \t\r\n";
  std::ifstream file(std::filesystem::u8path(path), std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot open: " + std::strerror(errno));
  std::string line;
  std::getline(file, line);
  const size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string::npos) {
    throw std::runtime_error(path + ": expected a token in its first line");
  }
  return line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
}

bool OthersMayRead(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(std::filesystem::u8path(path), error);
  return std::filesystem::exists(status) &&
         (status.permissions() & std::filesystem::perms::others_read) !=
             std::filesystem::perms::none;
}

}  // namespace runnel
