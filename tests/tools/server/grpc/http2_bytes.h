// Bytes of HTTP/2 frames.
#ifndef RUNNEL_TESTS_TOOLS_SERVER_GRPC_HTTP2_BYTES_H_
#define RUNNEL_TESTS_TOOLS_SERVER_GRPC_HTTP2_BYTES_H_

#include <cstdint>
#include <string>

namespace runnel::server::testing {

inline std::string FrameBytes(uint8_t type, uint8_t flags, uint32_t stream,
                              const std::string& content) {
  std::string bytes;
  for (const int shift : {16, 8, 0}) bytes += static_cast<char>(content.size() >> shift & 0xFF);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(stream >> shift & 0xFF);
  return bytes + content;
}

}  // namespace runnel::server::testing

#endif  // RUNNEL_TESTS_TOOLS_SERVER_GRPC_HTTP2_BYTES_H_
