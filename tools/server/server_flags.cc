#include "tools/server/server_flags.h"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "runtime/recognizer.h"
#include "tools/cli/command_line.h"
#include "tools/cli/run_in_threads.h"
#include "tools/server/resources/access.h"
#include "tools/server/resources/limits.h"
#include "tools/server/store/make_snapshot_store.h"

namespace {

const runnel::server::ServerOptions kDefaults;

}  // namespace

DEFINE_string(
    listen, kDefaults.listen,
    "IP address to listen on. The default serves this machine only; 0.0.0.0 or :: every network.");
DEFINE_int32(port, kDefaults.port,
             "Port for WebSocket and HTTP; 0: a free port, which is printed.");
DEFINE_int32(grpc_port, -1,
             "Port for gRPC, which clients of NVIDIA Riva speak; 0: a free port, which is printed; "
             "-1: none.");
DEFINE_int32(
    wyoming_port, -1,
    "Port for the Wyoming protocol of Home Assistant; 0: a free port, which is printed; -1: "
    "none. The protocol has neither tokens nor TLS.");
DEFINE_string(
    wyoming_languages, "",
    "Languages of the model, separated by commas, that clients of --wyoming_port are told, "
    "such as en,de. Empty: those that the model names.");
DEFINE_bool(wyoming_unprotected, false,
            "Open --wyoming_port although the server has a --bearer_token_file or a "
            "--tls_certificate.");
DEFINE_int32(admin_port, -1,
             "Port for /healthz, /readyz and /metrics on a thread of its own, which answers "
             "whatever clients do; 0: a free port, which is printed; -1: none. It has neither "
             "tokens nor TLS.");
DEFINE_int32(io_threads, kDefaults.io_threads,
             "Threads for the network, which receive and send for all clients.");
DEFINE_int32(num_threads, 0,
             "Worker threads, each of which decodes a batch of its own; 0: one per core.");
DEFINE_int32(max_batch_streams, kDefaults.recognizer.max_batch_streams,
             "Streams decoded in one batch at most.");
DEFINE_double(max_batch_wait_ms, kDefaults.recognizer.max_batch_wait_ms,
              "How long a chunk waits for others to share its batch.");

DEFINE_string(tls_certificate, "", "Certificate chain in PEM: serve https and wss only.");
DEFINE_string(tls_key, "", "Private key in PEM of --tls_certificate.");
DEFINE_string(
    bearer_token_file, "",
    "File whose first line clients must send, as 'Authorization: Bearer ...', "
    "'Authorization: Token ...', a subprotocol of OpenAI's or Deepgram's clients or ?token=, "
    "for streams and recordings. Empty: no token is needed.");
DEFINE_string(
    allow_origin, "",
    "Origins of web pages, such as https://example.org, separated by commas, that may use "
    "the server beside its own page; *: all. Pages of other origins are refused with 403, "
    "unless there is a --bearer_token_file.");
DEFINE_string(trusted_proxy, "",
              "Addresses of proxies, separated by commas, whose X-Forwarded-For is believed.");
DEFINE_string(
    snapshot_store, "",
    "Where snapshots are kept for clients that resume a stream after a lost connection: a folder, "
    "redis://HOST[:PORT][/DATABASE], or none. Empty: a folder of this user below "
    "$STATE_DIRECTORY, $XDG_RUNTIME_DIR or the folder for temporary files.");

namespace runnel::server {
namespace {

constexpr char kNoSnapshots[] = "none";  // --snapshot_store

// One flag for each row of LimitTable, which gflags stores in `limits`.
class LimitFlags {
 public:
  LimitFlags() {
    for (const LimitRow& row : LimitTable()) {
      const std::string unit = row.unit;
      help_.push_back(row.meaning + (unit.empty() ? "" : " Unit: " + unit + "."));
      std::visit(
          [&](const auto field) {
            gflags::FlagRegisterer(row.name, help_.back().c_str(), __FILE__, &(limits_.*field),
                                   &(defaults_.*field));
          },
          row.field);
    }
  }

  const Limits& limits() const { return limits_; }

 private:
  std::deque<std::string> help_;  // gflags keeps pointers to the texts
  Limits limits_;
  Limits defaults_;
};

// Registered before main, as the other flags are.
LimitFlags limit_flags;

// 0 is any free port, -1 none.
void CheckPortsDiffer() {
  const std::pair<const char*, int> ports[] = {{"port", FLAGS_port},
                                               {"grpc_port", FLAGS_grpc_port},
                                               {"wyoming_port", FLAGS_wyoming_port},
                                               {"admin_port", FLAGS_admin_port}};
  std::map<int, const char*> flag_of;
  for (const auto& [name, port] : ports) {
    if (port <= 0) continue;
    const auto [other, is_new] = flag_of.try_emplace(port, name);
    if (is_new) continue;
    throw std::invalid_argument(std::string("--") + name + " is " + std::to_string(port) +
                                ", expected another port than that of --" + other->second);
  }
}

void CheckFlags() {
  RequireRange("port", FLAGS_port, 0, std::numeric_limits<uint16_t>::max());
  RequireRange("grpc_port", FLAGS_grpc_port, -1, std::numeric_limits<uint16_t>::max());
  RequireRange("wyoming_port", FLAGS_wyoming_port, -1, std::numeric_limits<uint16_t>::max());
  RequireRange("admin_port", FLAGS_admin_port, -1, std::numeric_limits<uint16_t>::max());
  CheckPortsDiffer();
  RequireRange("io_threads", FLAGS_io_threads, 1, kMaxThreads);
  RequireRange("num_threads", FLAGS_num_threads, 0, kMaxThreads);
  RequireRange("max_batch_streams", FLAGS_max_batch_streams, 1,
               RecognizerOptions::kMaxBatchStreams);
  RequireRange("max_batch_wait_ms", FLAGS_max_batch_wait_ms, 0, RecognizerOptions::kMaxBatchWaitMs,
               "ms");
  if (FLAGS_tls_certificate.empty() != FLAGS_tls_key.empty()) {
    throw std::invalid_argument("--tls_certificate and --tls_key go together");
  }
  const bool is_protected = !FLAGS_bearer_token_file.empty() || !FLAGS_tls_certificate.empty();
  if (FLAGS_wyoming_port >= 0 && is_protected && !FLAGS_wyoming_unprotected) {
    throw std::invalid_argument(
        "--wyoming_port has neither tokens nor TLS, expected no --bearer_token_file and no "
        "--tls_certificate, or --wyoming_unprotected");
  }
  CheckLimits(limit_flags.limits());
}

}  // namespace

const FlagSource kServerFlagsSource = {__FILE__, "Flags of the server"};

ServerOptions OptionsFromFlags() {
  CheckFlags();
  ServerOptions options;
  options.listen = FLAGS_listen;
  options.port = static_cast<uint16_t>(FLAGS_port);
  if (FLAGS_grpc_port >= 0) options.grpc_port = static_cast<uint16_t>(FLAGS_grpc_port);
  if (FLAGS_wyoming_port >= 0) options.wyoming_port = static_cast<uint16_t>(FLAGS_wyoming_port);
  if (FLAGS_admin_port >= 0) options.admin_port = static_cast<uint16_t>(FLAGS_admin_port);
  options.wyoming_languages = SplitAtCommas(FLAGS_wyoming_languages);
  options.io_threads = FLAGS_io_threads;
  options.tls_certificate = FLAGS_tls_certificate;
  options.tls_key = FLAGS_tls_key;
  options.bearer_token_file = FLAGS_bearer_token_file;
  options.allowed_origins = FLAGS_allow_origin;
  options.trusted_proxies = FLAGS_trusted_proxy;
  options.snapshot_store = FLAGS_snapshot_store.empty()           ? DefaultSnapshotFolder()
                           : FLAGS_snapshot_store == kNoSnapshots ? ""
                                                                  : FLAGS_snapshot_store;
  options.recognizer.num_threads = ThreadsOrCores(FLAGS_num_threads);
  options.recognizer.max_batch_streams = FLAGS_max_batch_streams;
  options.recognizer.max_batch_wait_ms = FLAGS_max_batch_wait_ms;
  options.limits = limit_flags.limits();
  return options;
}

}  // namespace runnel::server
