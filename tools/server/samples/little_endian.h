// Reads little-endian numbers out of headers, on any machine.
#ifndef RUNNEL_TOOLS_SERVER_SAMPLES_LITTLE_ENDIAN_H_
#define RUNNEL_TOOLS_SERVER_SAMPLES_LITTLE_ENDIAN_H_

#include <cstddef>
#include <cstring>

namespace runnel::server {

// `Unsigned` has as many bytes as `Number`.
template <typename Number, typename Unsigned>
Number FromLittleEndian(const char* bytes) {
  static_assert(sizeof(Number) == sizeof(Unsigned));
  Unsigned bits = 0;
  for (size_t i = 0; i < sizeof(Unsigned); ++i) {
    const auto byte = static_cast<Unsigned>(static_cast<unsigned char>(bytes[i]));
    bits = static_cast<Unsigned>(bits | static_cast<Unsigned>(byte << (8 * i)));
  }
  Number number;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SAMPLES_LITTLE_ENDIAN_H_
