// A real redis-server for a test: on a port of its own, in memory only, gone with the object.
#ifndef RUNNEL_TESTS_TOOLS_SERVER_REDIS_PROCESS_H_
#define RUNNEL_TESTS_TOOLS_SERVER_REDIS_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace runnel::server {

// Throws std::runtime_error when redis-server cannot be started or does not answer within a minute.
class RedisProcess {
 public:
  // `port` 0: a free one. `more_arguments` as on redis-server's command line.
  explicit RedisProcess(int port = 0, const std::vector<std::string>& more_arguments = {});
  ~RedisProcess();
  RedisProcess(const RedisProcess&) = delete;
  RedisProcess& operator=(const RedisProcess&) = delete;

  int port() const { return port_; }
  std::string url() const;

  // Kills it as kill -9 does, and waits until it is gone.
  void Kill();
  // Stops its answers, and lets them go on.
  void Freeze();
  void Thaw();

 private:
  int port_;
  pid_t process_ = -1;
};

// A port of the loopback interface on which nothing listens at the moment.
int FreePort();

}  // namespace runnel::server

#endif  // RUNNEL_TESTS_TOOLS_SERVER_REDIS_PROCESS_H_
