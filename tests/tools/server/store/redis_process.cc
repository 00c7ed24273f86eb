#include "tests/tools/server/store/redis_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace runnel::server {
namespace {

constexpr int kStartTimeoutMs = 60'000;
// Redis prints this when it accepts connections.
constexpr char kReady[] = "Ready to accept connections";

// Reads the output of Redis until it is ready. False when it ends or the time is up.
bool WaitUntilReady(int output) {
  std::string printed;
  char buffer[4096];
  pollfd wait = {output, POLLIN, 0};
  while (printed.find(kReady) == std::string::npos) {
    if (::poll(&wait, 1, kStartTimeoutMs) <= 0) return false;
    const ssize_t count = ::read(output, buffer, sizeof(buffer));
    if (count <= 0) return false;
    printed.append(buffer, static_cast<size_t>(count));
  }
  return true;
}

}  // namespace

int FreePort() {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const any_address = reinterpret_cast<sockaddr*>(&address);
  const bool is_bound =
      ::bind(listener, any_address, size) == 0 && ::getsockname(listener, any_address, &size) == 0;
  ::close(listener);
  if (!is_bound) throw std::runtime_error(std::string("no free port: ") + std::strerror(errno));
  return ntohs(address.sin_port);
}

RedisProcess::RedisProcess(int port, const std::vector<std::string>& more_arguments)
    : port_(port == 0 ? FreePort() : port) {
  std::vector<std::string> arguments = {
      "redis-server", "--port", std::to_string(port_), "--bind", "127.0.0.1",
      "--save",       "",       "--appendonly",        "no"};
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  int output[2];
  if (::pipe2(output, O_CLOEXEC) != 0) throw std::runtime_error("pipe2 failed");
  process_ = ::fork();
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves nothing behind
    ::dup2(output[1], STDOUT_FILENO);
    ::execvp(pointers[0], pointers.data());
    ::_exit(127);
  }
  ::close(output[1]);
  const bool is_ready = process_ > 0 && WaitUntilReady(output[0]);
  // Redis keeps the other end of the pipe and ignores that its later output is not read.
  ::close(output[0]);
  if (!is_ready) {
    Kill();
    throw std::runtime_error("redis-server (Debian: redis-server) could not be started on port " +
                             std::to_string(port_));
  }
}

RedisProcess::~RedisProcess() { Kill(); }

std::string RedisProcess::url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

void RedisProcess::Kill() {
  if (process_ <= 0) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  process_ = -1;
}

void RedisProcess::Freeze() {
  ::kill(process_, SIGSTOP);
  ::waitpid(process_, nullptr, WUNTRACED);
}

void RedisProcess::Thaw() { ::kill(process_, SIGCONT); }

}  // namespace runnel::server
