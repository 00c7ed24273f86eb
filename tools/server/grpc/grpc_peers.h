// Who is behind the connections that gRPC serves.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_GRPC_PEERS_H_
#define RUNNEL_TOOLS_SERVER_GRPC_GRPC_PEERS_H_

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "tools/server/grpc/call_progress.h"
#include "tools/server/grpc/connection_slot.h"

namespace runnel::server {

// One connection. Thread-safe.
struct GrpcPeer {
  // `ticket`: of the connection, which holds it.
  GrpcPeer(std::string peer_address, const Ticket& ticket)
      : address(std::move(peer_address)), slot(std::make_shared<ConnectionSlot>(ticket)) {}

  const std::string address;
  const std::shared_ptr<ConnectionSlot> slot;
  CallProgress progress;
};

// gRPC knows its end of a connection by its file descriptor only, and calls it "fd:12".
// Thread-safe.
class GrpcPeers {
 public:
  // The connection lasts until another one has the same descriptor.
  void Set(int descriptor, std::shared_ptr<GrpcPeer> peer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    peers_["fd:" + std::to_string(descriptor)] = std::move(peer);
  }

  // `name`: grpc::ServerContextBase::peer. Null when there is no such connection.
  std::shared_ptr<const GrpcPeer> Find(const std::string& name) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = peers_.find(name);
    return found == peers_.end() ? nullptr : found->second;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<GrpcPeer>> peers_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_GRPC_PEERS_H_
