// gRPC and what it needs are some thirty shared libraries. A server loads them, with the code of
// this folder, when it is given a port for them.
#include <stdexcept>

#include "platform/library.h"
#include "runtime/version.h"
#include "tools/server/grpc/grpc_server.h"

namespace runnel::server {

std::unique_ptr<GrpcServer> GrpcServer::Start(const GrpcOptions& options,
                                              boost::asio::io_context* io,
                                              const ConnectionServices* shared) {
  static const Library library = LoadLibraryNamed("librunnel_grpc-" RUNNEL_VERSION);
  if (library.handle == nullptr) {
    throw std::invalid_argument("--grpc_port needs librunnel_grpc, which cannot be loaded (" +
                                library.problem +
                                "); expected the package runnel-server, or a build with "
                                "RUNNEL_BUILD_GRPC=ON where gRPC is installed");
  }
  auto* start = reinterpret_cast<decltype(&runnel_start_grpc_server)>(
      FunctionOf(library, "runnel_start_grpc_server"));
  if (start == nullptr) throw std::logic_error("librunnel_grpc has no runnel_start_grpc_server");
  return std::unique_ptr<GrpcServer>(start(options, io, shared));
}

}  // namespace runnel::server
