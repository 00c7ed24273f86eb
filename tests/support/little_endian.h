// Numbers as bytes, for tests that write files.
#ifndef RUNNEL_TESTS_SUPPORT_LITTLE_ENDIAN_H_
#define RUNNEL_TESTS_SUPPORT_LITTLE_ENDIAN_H_

#include <cstdint>
#include <string>

namespace runnel::testing {

// `num_bytes` of a number, the lowest first.
inline std::string LittleEndian(uint64_t number, int num_bytes) {
  std::string bytes;
  for (int i = 0; i < num_bytes; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
  return bytes;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_LITTLE_ENDIAN_H_
