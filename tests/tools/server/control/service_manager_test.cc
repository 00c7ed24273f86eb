// Messages to a socket as systemd has it.
#include "tools/server/control/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

namespace runnel::server {
namespace {

// A datagram socket with a name that is in no folder.
class Receiver {
 public:
  Receiver() : name_("@runnel-test-" + std::to_string(::getpid())) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name_.data() + 1, name_.size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    if (::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
      throw std::runtime_error(std::strerror(errno));
    }
  }
  ~Receiver() { ::close(descriptor_); }

  std::string Receive() const {
    std::array<char, 100> text{};
    const ssize_t size = ::recv(descriptor_, text.data(), text.size(), 0);
    return std::string(text.data(), static_cast<size_t>(size));
  }
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  const int descriptor_ = ::socket(AF_UNIX, SOCK_DGRAM, 0);
};

TEST(ServiceManager, Tells) {
  const Receiver receiver;
  ServiceManager manager(receiver.name());
  EXPECT_TRUE(manager.Tell("READY=1"));
  EXPECT_EQ(receiver.Receive(), "READY=1");
}

TEST(ServiceManager, NobodyListens) {
  EXPECT_FALSE(ServiceManager("").Tell("READY=1"));
  EXPECT_FALSE(ServiceManager("/nowhere/notify").Tell("READY=1"));
  EXPECT_THROW(ServiceManager("vsock:2:1"), std::invalid_argument);
  EXPECT_THROW(ServiceManager("/" + std::string(200, 'x')), std::invalid_argument);
}

}  // namespace
}  // namespace runnel::server
