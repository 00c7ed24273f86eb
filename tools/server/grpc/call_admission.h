// Admits calls of gRPC by their metadata.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_CALL_ADMISSION_H_
#define RUNNEL_TOOLS_SERVER_GRPC_CALL_ADMISSION_H_

#include <grpcpp/server_context.h>

#include <optional>
#include <string>
#include <string_view>

#include "tools/server/protocol/protocol_error.h"
#include "tools/server/transport/connection_context.h"

namespace runnel::server {

// Checks the bearer token in the metadata `authorization`. Counts a rejection.
std::optional<ProtocolError> CheckToken(const grpc::CallbackServerContext& call,
                                        const ConnectionServices& shared);

// The address of the client, behind a trusted proxy that of its metadata `x-forwarded-for`.
std::string AddressOf(const grpc::CallbackServerContext& call, const AccessRules& access);

// The IP address in grpc::ServerContextBase::peer, such as "ipv4:127.0.0.1:50000" or
// "ipv6:%5B::1%5D:50000", in the notation of NormalAddress; "" when there is none.
std::string PeerAddress(std::string_view peer);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_CALL_ADMISSION_H_
