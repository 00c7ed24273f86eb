// stream_server: live streams over WebSocket, recordings over HTTP, one port.
#include <cstdio>
#include <memory>
#include <string>

#include "runtime/model.h"
#include "runtime/stream.h"
#include "runtime/threads.h"
#include "tools/command_line.h"
#include "tools/model_flags.h"
#include "tools/server/server.h"
#include "tools/server/server_flags.h"
#include "tools/tool_main.h"

namespace runnel {
namespace {

constexpr char kUsage[] =
    R"(stream_server recognises live speech for any number of clients.

  stream_server --model=M.pt [--port=8080] [flags]

On one port: WebSocket, on any path, in our protocol, WeNet's or sherpa-onnx's (docs/protocol.md); POST
/v1/recognize with a WAV or FLAC file; /healthz, /readyz, /metrics for Prometheus; and a web page with
live captions at /. When it listens, it prints one line with its address; logs go to standard error.
SIGTERM or SIGINT: no new streams, those that live may end, then exit code 0; a second signal ends at
once, with exit code 1. docs/deploy.md says how to run several behind a proxy.

Examples:
  stream_server --model=models/digits/digits.pt
  stream_server --model=M.pt --precision=int8 --listen=0.0.0.0 --tls_certificate=c.pem --tls_key=k.pem
  curl --data-binary @recording.flac http://127.0.0.1:8080/v1/recognize
)";

int Run(Console* console) {
  RequireFlag("model", kModelFile);
  const server::ServerOptions options = server::OptionsFromFlags();
  SetThreadsPerOperation(1);
  const std::shared_ptr<const Model> model = LoadModel();
  console->Info("model " + model->config().name + ", " +
                std::to_string(options.recognizer.num_threads) + " worker threads; " +
                model->ComputeDescription());
  const auto print_address = [console](const std::string& url) {
    console->ShowTimes();
    std::printf("stream_server: listening on %s (ws%s)\n", url.c_str(), url.c_str() + 4);
    std::fflush(stdout);
  };
  const server::ServerEnd end = server::RunServer(model, options, print_address);
  return end == server::ServerEnd::kDrained ? kExitSuccess : kExitFailure;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  return runnel::ToolMain(argc, argv,
                          {"stream_server",
                           runnel::kUsage,
                           {runnel::kModelFlagsSource, runnel::server::kServerFlagsSource}},
                          runnel::Run);
}
