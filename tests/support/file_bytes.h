// Whole files as strings, for tests that damage them.
#ifndef RUNNEL_TESTS_SUPPORT_FILE_BYTES_H_
#define RUNNEL_TESTS_SUPPORT_FILE_BYTES_H_

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace runnel::testing {

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error(path + ": cannot be written");
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_FILE_BYTES_H_
