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

constexpr unsigned kFirstOther = 3;  // descriptor
// FFmpeg's tables and libraries take some 30 MiB, the index of a day of MP4 as much again.
// Sanitizers need much more, and open pipes.
#ifdef RUNNEL_SANITIZED
constexpr rlim_t kMaxDataBytes = RLIM_INFINITY;
constexpr rlim_t kMaxFiles = 64;
#else
constexpr rlim_t kMaxDataBytes = rlim_t{512} << 20;
constexpr rlim_t kMaxFiles = kFirstOther;
#endif

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
  // No file is opened, and none is written.
  return SetLimit(RLIMIT_DATA, kMaxDataBytes) && SetLimit(RLIMIT_NOFILE, kMaxFiles) &&
         SetLimit(RLIMIT_FSIZE, 0) && SetLimit(RLIMIT_CORE, 0) &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

}  // namespace runnel::media_decoder
