// The whole server: listens, runs the event loops and the recognizer, and ends when it is told to.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_SERVER_H_
#define RUNNEL_TOOLS_SERVER_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/model.h"
#include "runtime/recognizer.h"
#include "runtime/stream.h"
#include "tools/server/limits.h"

namespace runnel::server {

struct ServerOptions {
  std::string listen = "127.0.0.1";  // an address of this machine
  uint16_t port = 0;                 // 0: a free one
  int io_threads = 1;
  std::string tls_certificate;  // both or none
  std::string tls_key;
  std::string token;            // empty: everybody may
  std::string trusted_proxies;  // separated by commas
  std::string snapshot_store;   // MakeSnapshotStore; empty: none
  int64_t snapshot_ttl_s = 600;
  int64_t max_snapshot_bytes = int64_t{1} << 30;
  double snapshot_interval_s = 2;
  StreamOptions default_options;
  RecognizerOptions recognizer;  // max_buffered_s is that of the limits
  Limits limits;
};

enum class ServerEnd {
  kDrained,  // every stream ended by itself or was told at the end of drain_timeout
  kAtOnce    // by a second signal
};

// Serves until SIGTERM or SIGINT; streams then go on for drain_timeout at most, unless a second
// signal comes. `on_listening` is called once with the address, e.g. "http://127.0.0.1:8080".
// Throws std::invalid_argument on bad options, std::runtime_error when it cannot listen.
ServerEnd RunServer(const std::shared_ptr<const Model>& model, const ServerOptions& options,
                    const std::function<void(const std::string& url)>& on_listening);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SERVER_H_
