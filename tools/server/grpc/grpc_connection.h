// A connection of the gRPC port: moves bytes between a client and gRPC, as fast as gRPC is to have
// them.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_GRPC_CONNECTION_H_
#define RUNNEL_TOOLS_SERVER_GRPC_GRPC_CONNECTION_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "tools/network/any_stream.h"
#include "tools/server/grpc/call_places.h"
#include "tools/server/grpc/grpc_peers.h"
#include "tools/server/session/connection_context.h"

namespace runnel::server {

// Shared by the connections of a port. Every part is thread-safe.
struct GrpcGate {
  GrpcGate(int64_t most_calls, int64_t most_calls_of_account)
      : places(most_calls, most_calls_of_account) {}

  CallPlaces places;
  GrpcPeers peers;
  // Gives gRPC its end of a connection, a connected socket, which gRPC closes.
  std::function<void(int descriptor)> open;
};

// Serves the connection to its end; returns at once. A connection above a limit (context.refusal),
// and every one while the server shuts down, is closed. Call it on the stream's strand.
void ServeGrpc(AnyStream stream, ConnectionContext context, std::shared_ptr<GrpcGate> gate);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_GRPC_CONNECTION_H_
