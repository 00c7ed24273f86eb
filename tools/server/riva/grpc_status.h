// Errors of the server as status codes of gRPC.
#ifndef RUNNEL_TOOLS_SERVER_RIVA_GRPC_STATUS_H_
#define RUNNEL_TOOLS_SERVER_RIVA_GRPC_STATUS_H_

#include "tools/server/protocol/protocol_error.h"

namespace runnel::server {

// The number of grpc::StatusCode; this folder does not depend on gRPC.
int GrpcStatus(ErrorCode code);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RIVA_GRPC_STATUS_H_
