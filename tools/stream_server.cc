// stream_server: live streams over WebSocket, recordings over HTTP, one port.
#include <glog/logging.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>

#include "runtime/model.h"
#include "runtime/stream.h"
#include "tools/cli/command_line.h"
#include "tools/cli/model_flags.h"
#include "tools/cli/stream_flags.h"
#include "tools/cli/tool_main.h"
#include "tools/server/server.h"
#include "tools/server/server_flags.h"

namespace runnel {
namespace {

StreamFlags stream_flags(OptionUser::kServer);

constexpr char kUsage[] =
    R"(stream_server recognises live streams and recordings of many clients.

  stream_server MODEL [--port=8080] [flags]

One port serves all of:
  WebSocket on any path, in Runnel's, WeNet's, sherpa-onnx's or Vosk's protocol (docs/protocol.md)
  WebSocket on /v1/realtime, /v1/listen and /vosk, in OpenAI's, Deepgram's and Vosk's protocol
  POST /v1/recognize with a recording: WAV, FLAC, MP3, MP4, WebM, Ogg, AAC, AMR,
    MPEG-TS, AVI, FLV, WMA, AIFF, AU, CAF
  POST /v1/audio/transcriptions and GET /v1/models, as OpenAI's service
  /healthz, /readyz and /metrics for Prometheus
  / a web page with live captions

With --grpc_port, a second port serves the gRPC interface of NVIDIA Riva.
With --wyoming_port, a further port serves the Wyoming protocol of Home Assistant.
With --admin_port, a further port serves /healthz, /readyz and /metrics, whatever clients do.

The server prints its addresses, one per line, when it listens. Logs go to standard error. On SIGTERM
or SIGINT it refuses new streams, waits until the others end, and exits with code 0. A second signal
ends it at once, with code 1. On SIGHUP it reads the files of --tls_certificate, --tls_key,
--bearer_token_file, --hotwords and --language_model again. docs/deploy.md shows several servers behind
a proxy.

Examples:
  stream_server models/digits/digits.pt
  stream_server M.pt --hotwords=names.txt --language_model=3gram.bin
  stream_server M.pt --rescoring
  stream_server M.pt --precision=int8 --listen=0.0.0.0 --tls_certificate=c.pem --tls_key=k.pem
  curl --data-binary @recording.flac http://127.0.0.1:8080/v1/recognize
)";

// glog writes the lines of the server and of the console. From the start of the service on
// (FLAGS_log_prefix), it puts severity, date, time and thread before each.
void StartLog(Console* console) {
  FLAGS_logtostderr = true;
  FLAGS_log_prefix = false;
  google::InitGoogleLogging("stream_server");
  console->LogBy([](Console::Severity severity, const std::string& line) {
    if (severity == Console::Severity::kError) {
      LOG(ERROR) << line;
    } else {
      LOG(INFO) << line;
    }
  });
}

int Run(Console* console) {
  StartLog(console);
  std::signal(SIGHUP, SIG_IGN);  // until the server takes it
  RequireFlag("model", kModelFile);
  server::ServerOptions options = server::OptionsFromFlags();
  options.default_options = stream_flags.Read();
  const std::shared_ptr<const Model> model = LoadModel();
  options.read_files = [&model](OptionValues* values) {
    stream_flags.ReadFiles(model->tokens(), values);
  };
  console->Info("model " + model->name() + ", " + std::to_string(options.recognizer.num_threads) +
                " worker threads; " + model->ComputeDescription());
  const auto print_addresses = [](const server::ServerAddresses& addresses) {
    FLAGS_log_prefix = true;
    const char* url = addresses.url.c_str();
    std::printf("stream_server: listening on %s (ws%s)\n", url, url + 4);
    if (!addresses.grpc.empty()) {
      std::printf("stream_server: listening on %s (gRPC)\n", addresses.grpc.c_str());
    }
    if (!addresses.wyoming.empty()) {
      std::printf("stream_server: listening on %s (Wyoming)\n", addresses.wyoming.c_str());
    }
    if (!addresses.admin.empty()) {
      std::printf("stream_server: listening on %s (health and metrics)\n", addresses.admin.c_str());
    }
    std::fflush(stdout);
  };
  const server::ServerEnd end = server::RunServer(model, options, print_addresses);
  return end == server::ServerEnd::kDrained ? kExitSuccess : kExitFailure;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  // Streams of sherpa-onnx's clients have endpoints unless --endpointing says otherwise.
  runnel::AcceptFormerFlag("sherpa_endpointing", "endpointing");
  runnel::ToolMain(
      argc, argv,
      {"stream_server",
       runnel::kUsage,
       {runnel::server::kServerFlagsSource, runnel::kModelFlagsSource, runnel::kStreamFlagsSource},
       {"model", "port", "listen", "precision", "endpointing", "num_threads", "max_streams",
        "bearer_token_file", "tls_certificate", "tls_key", "hotwords", "language_model"},
       {"model"}},
      runnel::Run);
}
