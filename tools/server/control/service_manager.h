// Tells systemd the state of the service (sd_notify), without its library.
#ifndef RUNNEL_TOOLS_SERVER_CONTROL_SERVICE_MANAGER_H_
#define RUNNEL_TOOLS_SERVER_CONTROL_SERVICE_MANAGER_H_

#include <string>

namespace runnel::server {

// Used by one thread at a time.
class ServiceManager {
 public:
  // `socket`: $NOTIFY_SOCKET, the path of a datagram socket, or a name after "@"; empty: nobody
  // waits, and Tell has no effect. Throws std::invalid_argument when it is neither.
  explicit ServiceManager(std::string socket);
  ~ServiceManager();
  ServiceManager(const ServiceManager&) = delete;
  ServiceManager& operator=(const ServiceManager&) = delete;

  // Sends a state, such as "READY=1". Never waits; returns whether it was sent.
  bool Tell(const std::string& state);

 private:
  const std::string socket_;
  int descriptor_ = -1;
};

// $NOTIFY_SOCKET, which systemd sets; "" without it.
std::string NotifySocket();

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_CONTROL_SERVICE_MANAGER_H_
