#include "tools/media_decoder/limits.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

namespace runnel::media_decoder {
namespace {

// FFmpeg's tables and libraries take some 30 MiB, the index of a day of MP4 as much again.
constexpr rlim_t kMaxDataBytes = rlim_t{512} << 20;
constexpr unsigned kFirstOther = 3;  // descriptor

bool SetLimit(int resource, rlim_t value) {
  const rlimit limit = {value, value};
  return ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0;
}

// PR_SET_PDEATHSIG would kill this process when the thread ends that has started it, which may be
// long before the program does. An endless loop of a decoder keeps no process alive either.
void EndWithOtherEnd(int socket) {
  std::thread([socket] {
    pollfd closed = {socket, 0, 0};  // only POLLHUP and POLLERR
    while (::poll(&closed, 1, -1) < 1) {
    }
    ::_exit(EXIT_FAILURE);
  }).detach();
}

}  // namespace

bool LimitProcess(int socket) {
  // What the other program has left open for its children. Old kernels do not know the call.
  ::syscall(SYS_close_range, kFirstOther, ~0U, 0U);
  EndWithOtherEnd(socket);
#ifndef RUNNEL_SANITIZED  // sanitizers need much more
  if (!SetLimit(RLIMIT_DATA, kMaxDataBytes)) return false;
#endif
  // No file is opened, none is written, and nothing else is started.
  return SetLimit(RLIMIT_NOFILE, kFirstOther) && SetLimit(RLIMIT_FSIZE, 0) &&
         SetLimit(RLIMIT_CORE, 0) && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

}  // namespace runnel::media_decoder
