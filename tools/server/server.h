// The whole server: its options, and the call that serves until a signal ends it.
#ifndef RUNNEL_TOOLS_SERVER_SERVER_H_
#define RUNNEL_TOOLS_SERVER_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/options/stream_options.h"
#include "runtime/recognizer.h"
#include "runtime/stream.h"
#include "tools/server/resources/limits.h"

namespace runnel::server {

struct ServerOptions {
  std::string listen = "127.0.0.1";      // an address of this machine
  uint16_t port = 8080;                  // 0: a free one
  std::optional<uint16_t> grpc_port;     // for gRPC; empty: none, 0: a free one
  std::optional<uint16_t> wyoming_port;  // for Wyoming; empty: none, 0: a free one
  std::optional<uint16_t> admin_port;    // for health and metrics; empty: none, 0: a free one
  // Of the model, for Wyoming; empty: as the model says.
  std::vector<std::string> wyoming_languages;
  int io_threads = 2;
  std::string tls_certificate;    // PEM file; given together with tls_key, or not at all
  std::string tls_key;            // PEM file
  std::string bearer_token_file;  // its first line is the token; empty: no client needs one
  std::string allowed_origins;    // of web pages, separated by commas; "*": all
  std::string trusted_proxies;    // IP addresses, separated by commas
  std::string snapshot_store;     // for MakeSnapshotStore; empty: no snapshots
  // Where a client leaves an option to the server, without the contents of files. `read_files` adds
  // those, and throws for a file that cannot be used. It is called now and for each SIGHUP.
  ChosenOptions default_options;
  std::function<void(OptionValues* values)> read_files;
  RecognizerOptions recognizer;  // its max_buffered_s is replaced by that of `limits`
  Limits limits;
};

enum class ServerEnd {
  kDrained,  // every stream ended, or was told to after drain_timeout_s
  kAtOnce    // by a second signal
};

// Where a server listens.
struct ServerAddresses {
  std::string url;      // "http://127.0.0.1:8080"
  std::string grpc;     // "127.0.0.1:50051"; "" without gRPC
  std::string wyoming;  // "127.0.0.1:10300"; "" without Wyoming
  std::string admin;    // "http://127.0.0.1:9090"; "" without admin_port
};

// Serves until SIGTERM or SIGINT. SIGHUP has it read the files of certificate, token and
// default_options again, for connections and streams that begin then; when one cannot be used, all
// of them stay as they are. After SIGTERM, streams go on for limits.drain_timeout_s at most; a
// second signal ends the server at once. When a thread does not end, the process is ended some
// seconds later. `on_listening` is called once. systemd is told when the server is ready, and every
// second while its network threads work (sd_notify). Throws std::invalid_argument on bad options,
// std::runtime_error when the server cannot listen.
ServerEnd RunServer(const std::shared_ptr<const Model>& model, const ServerOptions& options,
                    const std::function<void(const ServerAddresses& addresses)>& on_listening);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SERVER_H_
