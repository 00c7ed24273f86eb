// Two connected sockets, one of them for a program that is started.
#ifndef RUNNEL_PLATFORM_SOCKET_PAIR_H_
#define RUNNEL_PLATFORM_SOCKET_PAIR_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "platform/file_descriptor.h"

namespace runnel {

// Throws std::system_error.
std::pair<FileDescriptor, FileDescriptor> MakeSocketPair();

// What became of a call that does not wait.
enum class SocketState {
  kDone,
  kWouldWait,  // there is no room, or there are no bytes
  kClosed      // by the other end, or an error
};

struct SocketResult {
  SocketState state;
  size_t count = 0;  // bytes, with kDone at least 1
};

// Neither waits, nor causes a signal.
SocketResult SendSome(int socket, const char* bytes, size_t size);
SocketResult ReceiveSome(int socket, char* bytes, size_t size);
// Returns when there is something to receive, or the other end has closed, or time is up, or
// before.
void WaitToReceive(int socket, std::chrono::milliseconds most);

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_SOCKET_PAIR_H_
