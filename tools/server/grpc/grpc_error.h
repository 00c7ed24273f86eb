// The status of a call that ends with an error.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_GRPC_ERROR_H_
#define RUNNEL_TOOLS_SERVER_GRPC_GRPC_ERROR_H_

#include <grpcpp/support/status.h>

#include "runtime/text/printable.h"
#include "tools/server/protocol/protocol_error.h"
#include "tools/server/riva/grpc_status.h"

namespace runnel::server {

inline grpc::Status StatusOf(const ProtocolError& error) {
  return {static_cast<grpc::StatusCode>(GrpcStatus(error.code)), Printable(error.message)};
}

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_GRPC_GRPC_ERROR_H_
