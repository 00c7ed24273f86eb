// Stands for grpc_server.cc in builds without gRPC.
#include <stdexcept>

#include "tools/server/grpc/grpc_server.h"

namespace runnel::server {

std::unique_ptr<GrpcServer> GrpcServer::Start(const GrpcOptions& /*options*/,
                                              boost::asio::io_context* /*io*/,
                                              const ConnectionServices* /*shared*/) {
  throw std::invalid_argument(
      "--grpc_port: this program was built without gRPC (CMake option RUNNEL_BUILD_GRPC)");
}

}  // namespace runnel::server
