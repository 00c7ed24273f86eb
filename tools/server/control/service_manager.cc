#include "tools/server/control/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace runnel::server {

ServiceManager::ServiceManager(std::string socket) : socket_(std::move(socket)) {
  if (socket_.empty()) return;
  const bool is_name = socket_[0] == '/' || socket_[0] == '@';
  if (!is_name || socket_.size() >= sizeof(sockaddr_un::sun_path)) {
    throw std::invalid_argument("NOTIFY_SOCKET is '" + socket_ + "', expected a path or @NAME");
  }
  descriptor_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor_ < 0) {
    throw std::runtime_error("a socket for NOTIFY_SOCKET: " + std::string(std::strerror(errno)));
  }
}

ServiceManager::~ServiceManager() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool ServiceManager::Tell(const std::string& state) {
  if (descriptor_ < 0) return false;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_[0] == '@') address.sun_path[0] = '\0';
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  return ::sendto(descriptor_, state.data(), state.size(), MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address),
                  size) == static_cast<ssize_t>(state.size());
}

std::string NotifySocket() {
  const char* socket = std::getenv("NOTIFY_SOCKET");
  return socket == nullptr ? "" : socket;
}

}  // namespace runnel::server
