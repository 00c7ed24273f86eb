#include "platform/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

namespace runnel {
namespace {

constexpr int kMaxEndMs = 1000;
constexpr int kMinDescriptor = 3;

// A handle of a process stays its own; its number goes to others after it was waited for. These
// return -1 and set errno, to ENOSYS where the system has no handles.
#ifdef __linux__
int OpenHandle(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }
int KillByHandle(int handle) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0));
}
int WaitByHandle(int handle, siginfo_t* info, int options) {
  constexpr auto kByHandle = static_cast<idtype_t>(3);  // P_PIDFD, which older headers lack
  return ::waitid(kByHandle, static_cast<id_t>(handle), info, options);
}
#else
int Missing() {
  errno = ENOSYS;
  return -1;
}
int OpenHandle(pid_t /*pid*/) { return Missing(); }
int KillByHandle(int /*handle*/) { return Missing(); }
int WaitByHandle(int /*handle*/, siginfo_t* /*info*/, int /*options*/) { return Missing(); }
#endif

// As waitid. `handle`: -1 where there is none.
int Wait(int handle, pid_t pid, int options, siginfo_t* info) {
  if (handle >= 0) return WaitByHandle(handle, info, options);
  return ::waitid(P_PID, static_cast<id_t>(pid), info, options);
}

// One that posix_spawn may put anywhere: dup2 of a descriptor onto itself would leave it closed.
// -1 stays -1.
FileDescriptor DuplicateForChild(int fd) {
  if (fd < 0) return FileDescriptor(-1);
  const int duplicate = ::fcntl(fd, F_DUPFD_CLOEXEC, kMinDescriptor);
  if (duplicate < 0) throw std::system_error(errno, std::generic_category());
  return FileDescriptor(duplicate);
}

// Settings of posix_spawn.
class SpawnSettings {
 public:
  SpawnSettings(int input, int output, int errors) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    Set(STDIN_FILENO, input, O_RDONLY);
    Set(STDOUT_FILENO, output, O_WRONLY);
    Set(STDERR_FILENO, errors, O_WRONLY);
    // The signals of this program's threads are not those of the other one.
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  // `fd`: -1 for /dev/null.
  void Set(int stream, int fd, int mode) {
    if (fd >= 0) {
      ::posix_spawn_file_actions_adddup2(&actions_, fd, stream);
    } else {
      ::posix_spawn_file_actions_addopen(&actions_, stream, "/dev/null", mode, 0);
    }
  }

  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::vector<char*> PointersTo(std::vector<std::string>* words) {
  std::vector<char*> pointers;
  for (std::string& word : *words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

bool CanStartPrograms() { return true; }

ChildProcess::ChildProcess(std::vector<std::string> words, std::vector<std::string> environment,
                           int input, int output, int errors) {
  const FileDescriptor input_copy = DuplicateForChild(input);
  const FileDescriptor output_copy = DuplicateForChild(output);
  const FileDescriptor errors_copy = DuplicateForChild(errors);
  const SpawnSettings settings(input_copy.get(), output_copy.get(), errors_copy.get());
  const int error =
      ::posix_spawn(&pid_, words.front().c_str(), settings.actions(), settings.attributes(),
                    PointersTo(&words).data(), PointersTo(&environment).data());
  if (error != 0) throw std::system_error(error, std::generic_category());
  Open();
}

ChildProcess::~ChildProcess() { Kill(); }

void ChildProcess::Open() {
  handle_ = FileDescriptor(OpenHandle(pid_));
  if (handle_.get() >= 0) return;
  const int error = errno;
  is_gone_ = error == ESRCH;
  // Linux 5.3 has the call. Filters of calls that are as old may answer EPERM.
  if (is_gone_ || error == ENOSYS || error == EPERM) return;
  Kill();
  throw std::system_error(error, std::generic_category());
}

void ChildProcess::Kill() {
  if (std::exchange(is_gone_, true)) return;
  const bool is_refused = handle_.get() < 0 || (KillByHandle(handle_.get()) != 0 && errno != ESRCH);
  if (is_refused) ::kill(pid_, SIGKILL);
  siginfo_t info = {};
  while (Wait(handle_.get(), pid_, WEXITED, &info) < 0 && errno == EINTR) {
  }
}

std::optional<ProcessEnd> ChildProcess::WaitForEnd() {
  for (int ms = 0; ms < kMaxEndMs && !is_gone_; ++ms) {
    siginfo_t info = {};
    const int waited = Wait(handle_.get(), pid_, WEXITED | WNOHANG, &info);
    is_gone_ = waited < 0 ? errno != EINTR : info.si_pid != 0;
    if (waited == 0 && is_gone_) return ProcessEnd{info.si_code != CLD_EXITED, info.si_status};
    if (!is_gone_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Kill();
  return std::nullopt;
}

}  // namespace runnel
