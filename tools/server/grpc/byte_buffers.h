// The bytes of a message of gRPC in one piece.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_BYTE_BUFFERS_H_
#define RUNNEL_TOOLS_SERVER_GRPC_BYTE_BUFFERS_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <stdexcept>
#include <string_view>

namespace runnel::server {

// Shares the memory of a message that came in one piece. Throws std::runtime_error for a message
// that gRPC cannot decompress.
inline grpc::Slice SliceOf(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (buffer.TrySingleSlice(&slice).ok()) return slice;
  if (buffer.DumpToSingleSlice(&slice).ok()) return slice;
  throw std::runtime_error("a message of gRPC cannot be read");
}

// Valid while the slice is.
inline std::string_view View(const grpc::Slice& slice) {
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_BYTE_BUFFERS_H_
