// A redis-server process for a test, on a free port and in memory only. It ends with the object.
#ifndef RUNNEL_TESTS_TOOLS_SERVER_STORE_REDIS_PROCESS_H_
#define RUNNEL_TESTS_TOOLS_SERVER_STORE_REDIS_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace runnel::server {

// Throws std::runtime_error when redis-server cannot be started or does not answer within a minute.
class RedisProcess {
 public:
  // `port` 0 chooses a free port. `more_arguments` as on redis-server's command line.
  explicit RedisProcess(int port = 0, const std::vector<std::string>& more_arguments = {});
  ~RedisProcess();
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  int port() const { return port_; }
  std::string url() const;

  // Kills the process with SIGKILL and waits for its end.
  void Kill();
  // After Freeze, Redis does not reply until Thaw.
  void Freeze();
  void Thaw();

 private:
  int port_;
  pid_t process_ = -1;
};

// A port of the loopback interface on which nothing listens at the moment.
int FreePort();

}  // namespace runnel::server

#endif  // RUNNEL_TESTS_TOOLS_SERVER_STORE_REDIS_PROCESS_H_
