// Clients that connect, send audio and disconnect abruptly, at every stage of a stream.
#ifndef RUNNEL_TOOLS_CLIENT_VANISHING_CLIENTS_H_
#define RUNNEL_TOOLS_CLIENT_VANISHING_CLIENTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tools/client/load_run.h"
#include "tools/client/load_statistics.h"

namespace runnel::client {

struct VanishOptions {
  SessionOptions session;
  int64_t count = 0;    // connections in total
  int64_t at_once = 1;  // at the same time
  uint32_t seed = 1;
};

// Starts at once. Calls `on_done` in the loop when the last one has vanished. A client that the
// server refuses counts as a failed stream.
class VanishingClients {
 public:
  VanishingClients(EventLoop* loop, Connector* connector, const VanishOptions& options,
                   const std::vector<LoadRecording>& recordings, LoadStatistics* statistics,
                   std::function<void()> on_done);
  ~VanishingClients();
  VanishingClients(const VanishingClients&) = delete;
  VanishingClients& operator=(const VanishingClients&) = delete;

 private:
  class Client;

  EventLoop* const loop_;
  Connector* const connector_;
  const VanishOptions options_;
  const std::vector<LoadRecording>& recordings_;
  LoadStatistics* const statistics_;
  const std::function<void()> on_done_;
  int64_t num_begun_ = 0;
  int64_t num_active_;  // clients that have not ended
  std::vector<std::unique_ptr<Client>> clients_;
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_VANISHING_CLIENTS_H_
