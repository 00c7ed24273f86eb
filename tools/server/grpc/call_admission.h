// Admits calls of gRPC by their metadata.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_CALL_ADMISSION_H_
#define RUNNEL_TOOLS_SERVER_GRPC_CALL_ADMISSION_H_

#include <grpcpp/server_context.h>

#include <cstdint>
#include <optional>
#include <string>

#include "tools/server/grpc/grpc_peers.h"
#include "tools/server/protocol/protocol_error.h"
#include "tools/server/transport/connection_context.h"

namespace runnel::server {

// Checks the bearer token in the metadata `authorization`. Counts a rejection.
std::optional<ProtocolError> CheckToken(const grpc::CallbackServerContext& call,
                                        const ConnectionServices& shared);

// The HTTP/2 stream of the call, in the metadata that ConnectionCalls adds.
uint32_t StreamOf(const grpc::CallbackServerContext& call);

// The address of the client: that of the `peer`, behind a trusted proxy that of the metadata
// `x-forwarded-for`.
std::string AddressOf(const grpc::CallbackServerContext& call, const GrpcPeer& peer,
                      const AccessRules& access);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_CALL_ADMISSION_H_
