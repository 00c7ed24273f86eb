#include "platform/process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace runnel {

std::vector<std::string> ProgramArguments(int argc, char** argv) {
  return {argv + (argc > 0 ? 1 : 0), argv + argc};
}

void PrepareStandardStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    const int mode = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (::open("/dev/null", mode) != stream) std::abort();  // no stream is left for a message
  }
}

void IgnoreWriteSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void EndByClosedPipe(int error) {
  if (error != EPIPE) return;
  std::signal(SIGPIPE, SIG_DFL);
  ::kill(::getpid(), SIGPIPE);
}

void RemoveVariable(const char* name) { ::unsetenv(name); }

bool IsTerminal(int fd) { return ::isatty(fd) == 1; }

bool ObeysEscapeSequences(int fd) { return IsTerminal(fd); }

size_t TerminalWidth() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

std::filesystem::path ProgramFolder() {
  std::error_code error;  // not Linux
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

std::filesystem::path ModuleFolder() {
  Dl_info info = {};
  if (::dladdr(reinterpret_cast<void*>(&ModuleFolder), &info) == 0) return {};
  const std::filesystem::path file = info.dli_fname;
  return file.is_absolute() ? file.parent_path() : std::filesystem::path();
}

int64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int64_t>::max();
  rlimit raised = limit;
  raised.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<int64_t>::max()
                                         : static_cast<int64_t>(limit.rlim_cur);
}

void OutliveFirstInterrupt() {
  struct sigaction action {};
  action.sa_handler = [](int /*signal*/) {};
  action.sa_flags = SA_RESETHAND | SA_RESTART;  // reads continue; a second signal has its default
  sigaction(SIGINT, &action, nullptr);
}

void CallInForkedChildren(void (*call)()) {
  if (::pthread_atfork(nullptr, nullptr, call) != 0) throw std::bad_alloc();
}

#ifdef __APPLE__

int64_t PeakMemoryBytes() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) {
    throw std::runtime_error("the system does not tell the memory of this process");
  }
  return usage.ru_maxrss;
}

#else

// The peak of getrusage() also has that of the program that started this one.
int64_t PeakMemoryBytes() {
  constexpr char kFile[] = "/proc/self/status";
  constexpr std::string_view kField = "VmHWM:";
  std::ifstream status(kFile);
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, kField.size(), kField) == 0) {
      return std::stoll(line.substr(kField.size())) * 1024;
    }
  }
  throw std::runtime_error(std::string(kFile) + ": no field VmHWM");
}

#endif

}  // namespace runnel
