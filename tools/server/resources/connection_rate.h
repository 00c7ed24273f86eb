// How fast each account may open connections.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_CONNECTION_RATE_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_CONNECTION_RATE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace runnel::server {

// Opening a connection costs more than its slot shows, which is free again when the connection is
// dropped: threads of gRPC, a TLS handshake. An account may open some at once, and further ones at
// a constant rate (the generic cell rate algorithm, ITU-T I.371). Those that come faster wait.
//
// Thread-safe. Reads no clock: the caller passes the time.
class ConnectionRate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `per_second` 0: there is no limit.
  ConnectionRate(double per_second, int64_t most_at_once);

  // When the connection that the account opens at `now` may begin: at `now`, or later. Call it once
  // for each connection.
  Time Next(const std::string& account, Time now);

 private:
  void ForgetIdle(Time now);

  using Duration = std::chrono::steady_clock::duration;
  const Duration interval_;  // between two connections; 0: there is no limit
  const Duration at_once_;   // that of as many as may begin at once
  std::mutex mutex_;
  std::unordered_map<std::string, Time> busy_until_;  // by account
  size_t most_accounts_;                              // before ForgetIdle
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_CONNECTION_RATE_H_
