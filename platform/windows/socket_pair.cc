// Nothing for Windows needs it so far: there is no media_decoder.
#include "platform/socket_pair.h"

#include <cerrno>
#include <system_error>

namespace runnel {

std::pair<FileDescriptor, FileDescriptor> MakeSocketPair() {
  throw std::system_error(ENOSYS, std::generic_category());
}

SocketResult SendSome(int /*socket*/, const char* /*bytes*/, size_t /*size*/) {
  return {SocketState::kClosed};
}

SocketResult ReceiveSome(int /*socket*/, char* /*bytes*/, size_t /*size*/) {
  return {SocketState::kClosed};
}

void WaitToReceive(int /*socket*/, std::chrono::milliseconds /*most*/) {}

}  // namespace runnel
