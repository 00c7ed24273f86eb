// The server's second port, for gRPC clients of NVIDIA Riva.
#ifndef RUNNEL_TOOLS_SERVER_GRPC_GRPC_SERVER_H_
#define RUNNEL_TOOLS_SERVER_GRPC_GRPC_SERVER_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tools/server/resources/replaceable.h"
#include "tools/server/session/connection_context.h"

namespace runnel::server {

struct GrpcOptions {
  std::string listen;                                           // an address of this machine
  uint16_t port = 0;                                            // 0: a free one
  const Replaceable<boost::asio::ssl::context>* tls = nullptr;  // outlives the server; null: no TLS
};

// Serves Recognize, StreamingRecognize and GetRivaSpeechRecognitionConfig, health checks and
// reflection. gRPC's own threads take the calls and pass their events to `io`, where the calls
// live.
class GrpcServer {
 public:
  virtual ~GrpcServer() = default;

  // Loads gRPC. Calls are accepted when this returns. `io` and `shared` outlive the server. Throws
  // std::runtime_error when the server cannot listen, std::invalid_argument when the library with
  // gRPC cannot be loaded.
  static std::unique_ptr<GrpcServer> Start(const GrpcOptions& options, boost::asio::io_context* io,
                                           const ConnectionServices* shared);

  virtual int port() const = 0;

  // Tells clients to open new calls elsewhere (GOAWAY), and health checks that the server does not
  // serve. Present calls go on, until `last` at most. To be called once; returns at once.
  virtual void Drain(std::chrono::system_clock::time_point last) = 0;

  // After Drain: ends all calls, then calls `done` from a thread of its own. To be called once.
  // `io` must run until `done` is called.
  virtual void Stop(std::function<void()> done) = 0;
};

}  // namespace runnel::server

// Of the library with gRPC. The result belongs to the caller.
extern "C" runnel::server::GrpcServer* runnel_start_grpc_server(
    const runnel::server::GrpcOptions& options, boost::asio::io_context* io,
    const runnel::server::ConnectionServices* shared);

#endif  // RUNNEL_TOOLS_SERVER_GRPC_GRPC_SERVER_H_
