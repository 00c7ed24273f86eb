#include "platform/socket_pair.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace runnel {
namespace {

#ifdef SOCK_CLOEXEC
constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC;
#else  // macOS
constexpr int kType = SOCK_STREAM;
#endif

#ifdef MSG_NOSIGNAL
constexpr int kSendFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
#else  // macOS: SO_NOSIGPIPE
constexpr int kSendFlags = MSG_DONTWAIT;
#endif

void SetUp([[maybe_unused]] int socket) {
#ifndef SOCK_CLOEXEC
  ::fcntl(socket, F_SETFD, FD_CLOEXEC);
#endif
#ifdef SO_NOSIGPIPE
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof(yes));
#endif
}

SocketResult ResultOf(ssize_t count) {
  if (count > 0) return {SocketState::kDone, static_cast<size_t>(count)};
  const bool would_wait = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  return {would_wait ? SocketState::kWouldWait : SocketState::kClosed};
}

}  // namespace

std::pair<FileDescriptor, FileDescriptor> MakeSocketPair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, kType, 0, ends) != 0) {
    throw std::system_error(errno, std::generic_category());
  }
  for (const int end : ends) SetUp(end);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

SocketResult SendSome(int socket, const char* bytes, size_t size) {
  ssize_t count = -1;
  do {
    count = ::send(socket, bytes, size, kSendFlags);
  } while (count < 0 && errno == EINTR);
  return ResultOf(count);
}

SocketResult ReceiveSome(int socket, char* bytes, size_t size) {
  ssize_t count = -1;
  do {
    count = ::recv(socket, bytes, size, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  return ResultOf(count);
}

void WaitToReceive(int socket, std::chrono::milliseconds most) {
  pollfd readable = {socket, POLLIN, 0};
  ::poll(&readable, 1, static_cast<int>(most.count()));
}

}  // namespace runnel
