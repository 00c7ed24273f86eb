#include "tools/cli/token_file.h"

#include <sys/stat.h>

#include <fstream>
#include <stdexcept>

namespace runnel {

std::string ReadToken(const std::string& path) {
  constexpr char kBlanks[] = " \t\r\n";
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const size_t begin = line.find_first_not_of(kBlanks);
  if (begin == std::string::npos) {
    throw std::runtime_error(path + ": expected a token in the first line of a readable file");
  }
  return line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
}

bool OthersMayRead(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0;
}

}  // namespace runnel
