#include "tools/media_decoder/limits.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <thread>

namespace runnel::media_decoder {
namespace {

constexpr unsigned kFirstOther = 3;  // descriptor
// Sanitizers need much more memory, and open pipes.
#ifdef RUNNEL_SANITIZED
constexpr rlim_t kMaxDataBytes = RLIM_INFINITY;
constexpr rlim_t kMaxFiles = 64;
#else
constexpr rlim_t kMaxDataBytes = rlim_t{kMaxMemoryMib} << 20;
constexpr rlim_t kMaxFiles = kFirstOther;
#endif
// A day of audio takes some minutes.
constexpr rlim_t kMaxCpuS = 3600;

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

// When the system has no memory left, this process ends rather than a server. Without /proc, the
// system chooses.
void OfferMemory() {
  constexpr std::string_view kFirstToEnd = "1000";
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (::write(file, kFirstToEnd.data(), kFirstToEnd.size()) < 0) {
  }
  ::close(file);
}

}  // namespace

bool LimitProcess(int socket) {
  // What the other program has left open for its children. Old kernels do not know the call.
  ::syscall(SYS_close_range, kFirstOther, ~0U, 0U);
  EndWithOtherEnd(socket);
  OfferMemory();
  // No file is opened, and none is written.
  return SetLimit(RLIMIT_DATA, kMaxDataBytes) && SetLimit(RLIMIT_NOFILE, kMaxFiles) &&
         SetLimit(RLIMIT_FSIZE, 0) && SetLimit(RLIMIT_CORE, 0) && SetLimit(RLIMIT_CPU, kMaxCpuS) &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

}  // namespace runnel::media_decoder
