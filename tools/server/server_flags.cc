#include "tools/server/server_flags.h"

#include <gflags/gflags.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

#include "tools/command_line.h"
#include "tools/server/client_json.h"
#include "tools/server/snapshot_store.h"
#include "tools/token_file.h"

DEFINE_string(listen, "127.0.0.1",
              "IP address to listen on: this machine only; 0.0.0.0 or ::, everybody.");
DEFINE_int32(port, 8080, "Port for WebSocket and HTTP; 0: a free one, which is printed.");
DEFINE_int32(io_threads, 1, "Threads for the network; one serves some thousand streams.");
DEFINE_int32(num_threads, 0, "Worker threads, each decodes its own batch; 0: one per core.");
DEFINE_int32(max_batch_streams, 16, "Streams decoded in one batch at most.");
DEFINE_double(max_batch_wait_ms, 10, "How long a chunk waits for others to share its batch.");
DEFINE_int64(chunk_size, runnel::StreamOptions::kModelDefault,
             "Encoder frames decoded at a time where the client does not say; -2: as the model "
             "recommends.");
DEFINE_int64(left_context, runnel::StreamOptions::kModelDefault,
             "Encoder frames before a chunk that it sees where the client does not say; -1: all; "
             "-2: as the model recommends.");

DEFINE_string(tls_certificate, "", "Certificate chain in PEM: serve https and wss only.");
DEFINE_string(tls_key, "", "Private key in PEM of --tls_certificate.");
DEFINE_string(bearer_token_file, "",
              "File whose first line clients must send, as 'Authorization: Bearer ...' or ?token=, "
              "for streams and recordings. Empty: everybody may.");
DEFINE_string(trusted_proxy, "",
              "Addresses of proxies, separated by commas, whose X-Forwarded-For is believed.");

DEFINE_string(
    snapshot_store, "",
    "Where streams are kept for clients that resume after a lost connection: a folder, "
    "redis://HOST[:PORT][/DATABASE], or none: nowhere. Empty: a folder of this user's, below "
    "$STATE_DIRECTORY, $XDG_RUNTIME_DIR or the folder for temporary files.");
DEFINE_int64(snapshot_ttl_s, 600, "How long a snapshot is kept; a year at most.");
DEFINE_int64(
    max_snapshot_mb, 1024,
    "Size of all snapshots in a folder, in MiB; when it is full, further streams get none. "
    "Redis has its own limit (maxmemory).");
DEFINE_double(snapshot_interval_s, 2, "Audio between two snapshots of a stream.");

DEFINE_int64(max_streams, 500, "Streams at once; more are refused with 503.");
DEFINE_int64(max_streams_per_address, 100,
             "Streams and recordings at once per client address; 0: no limit.");
DEFINE_int64(max_connections, 1000, "Connections at once; more are refused with 503.");
DEFINE_int64(max_connections_per_address, 200,
             "Connections at once per client address; 0: no limit.");
DEFINE_int64(max_uploads, 8, "Recordings (POST /v1/recognize) at once; more are refused with 503.");
DEFINE_int64(max_message_bytes, 1 << 20,
             "Size of a WebSocket message; larger ones end the stream.");
DEFINE_int64(max_header_bytes, 16 << 10, "Size of an HTTP header.");
DEFINE_int64(max_body_mb, 64, "Size of a recording in MiB.");
DEFINE_int64(max_send_queue_kb, 256,
             "KiB of results that wait for a client; beyond it, nothing is read from it.");
DEFINE_double(max_buffered_s, 30,
              "Audio per stream that waits for being decoded; beyond it, nothing is read.");
DEFINE_double(max_speed, 10,
              "Audio is read at this many times real time at most, after a first --max_buffered_s; "
              "0: no limit.");
DEFINE_int32(max_sample_rate, 48000, "Largest sample rate of streams and recordings, in Hz.");
DEFINE_double(max_recording_s, 3600, "Duration of a recording; longer ones are refused with 413.");
DEFINE_double(max_audio_s, 4 * 3600, "Audio of a stream, at any speed; 0: no limit.");
DEFINE_double(header_timeout_s, 10, "Time for an HTTP header, and between two requests.");
DEFINE_double(handshake_timeout_s, 10, "Time for a TLS or WebSocket handshake.");
DEFINE_double(idle_timeout_s, 60,
              "Time without a message, after which a stream ends; 0: no limit.");
DEFINE_double(send_timeout_s, 30, "Time that a client may take to read one message.");
DEFINE_double(max_upload_s, 300, "Time that the body of a recording may take to arrive.");
DEFINE_double(max_stream_s, 4 * 3600, "Time that a stream may last; 0: no limit.");
DEFINE_double(drain_timeout_s, 60, "Time that streams may go on after SIGTERM.");
DEFINE_int64(max_chunk_size, 64,
             "Largest chunk_size that a client may ask for; -1: any, and -1, the whole utterance.");
DEFINE_int64(max_left_context, 512, "Largest left_context that a client may ask for.");
DEFINE_int32(max_beam_size, 32, "Largest beam_size that a client may ask for.");
DEFINE_int32(max_nbest, 10,
             "Largest nbest (results in the final message) that a client may ask for.");

namespace runnel::server {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;
constexpr double kLongestS = 1e9;
constexpr char kNoSnapshots[] = "none";  // --snapshot_store

// A number flag in [min, kLongestS].
void RequireAtLeast(const char* name, double value, double min) {
  if (value >= min && value <= kLongestS) return;
  throw std::invalid_argument(std::string("--") + name + " is " + std::to_string(value) +
                              ", expected at least " + std::to_string(min));
}

void CheckFlags() {
  RequireRange("port", FLAGS_port, 0, std::numeric_limits<uint16_t>::max());
  RequireRange("io_threads", FLAGS_io_threads, 1, kMaxThreads);
  RequireRange("num_threads", FLAGS_num_threads, 0, kMaxThreads);
  if (FLAGS_tls_certificate.empty() != FLAGS_tls_key.empty()) {
    throw std::invalid_argument("--tls_certificate and --tls_key go together");
  }
  RequireRange("max_streams", FLAGS_max_streams, 1, kMost);
  RequireRange("max_streams_per_address", FLAGS_max_streams_per_address, 0, kMost);
  RequireRange("max_connections", FLAGS_max_connections, 1, kMost);
  RequireRange("max_connections_per_address", FLAGS_max_connections_per_address, 0, kMost);
  RequireRange("max_uploads", FLAGS_max_uploads, 0, kMost);
  RequireRange("max_message_bytes", FLAGS_max_message_bytes, 1024, kMost);
  RequireRange("max_header_bytes", FLAGS_max_header_bytes, 1024, int64_t{1} << 24);
  RequireRange("max_body_mb", FLAGS_max_body_mb, 1, int64_t{1} << 20);
  RequireRange("max_send_queue_kb", FLAGS_max_send_queue_kb, 1, int64_t{1} << 20);
  RequireRange("snapshot_ttl_s", FLAGS_snapshot_ttl_s, 1, kMaxSnapshotLife.count());
  RequireRange("max_snapshot_mb", FLAGS_max_snapshot_mb, 1, int64_t{1} << 30);
  RequireRange("max_chunk_size", FLAGS_max_chunk_size, -1, kMost);
  RequireRange("max_sample_rate", FLAGS_max_sample_rate, StreamOptions::kMinRate,
               StreamOptions::kMaxRate);
  RequireRange("max_left_context", FLAGS_max_left_context, 0, kMost);
  RequireRange("max_beam_size", FLAGS_max_beam_size, 1, SearchOptions::kMaxBeamSize);
  RequireRange("max_nbest", FLAGS_max_nbest, 1, kMaxNBest);
  RequireRange("max_batch_streams", FLAGS_max_batch_streams, 1, 65536);
  RequireAtLeast("max_batch_wait_ms", FLAGS_max_batch_wait_ms, 0);
  RequireAtLeast("max_buffered_s", FLAGS_max_buffered_s, 0.001);
  RequireAtLeast("max_speed", FLAGS_max_speed, 0);
  RequireAtLeast("max_recording_s", FLAGS_max_recording_s, 0.1);
  RequireAtLeast("max_audio_s", FLAGS_max_audio_s, 0);
  RequireAtLeast("idle_timeout_s", FLAGS_idle_timeout_s, 0);
  RequireAtLeast("max_stream_s", FLAGS_max_stream_s, 0);
  RequireAtLeast("drain_timeout_s", FLAGS_drain_timeout_s, 0);
  RequireAtLeast("snapshot_interval_s", FLAGS_snapshot_interval_s, 0.1);
  RequireAtLeast("header_timeout_s", FLAGS_header_timeout_s, 0.1);
  RequireAtLeast("handshake_timeout_s", FLAGS_handshake_timeout_s, 0.1);
  RequireAtLeast("send_timeout_s", FLAGS_send_timeout_s, 0.1);
  RequireAtLeast("max_upload_s", FLAGS_max_upload_s, 0.1);
}

Limits LimitsFromFlags() {
  Limits limits;
  limits.max_streams = FLAGS_max_streams;
  limits.max_streams_per_address = FLAGS_max_streams_per_address;
  limits.max_connections = FLAGS_max_connections;
  limits.max_connections_per_address = FLAGS_max_connections_per_address;
  limits.max_uploads = FLAGS_max_uploads;
  limits.max_message_bytes = static_cast<size_t>(FLAGS_max_message_bytes);
  limits.max_header_bytes = static_cast<size_t>(FLAGS_max_header_bytes);
  limits.max_body_bytes = static_cast<size_t>(FLAGS_max_body_mb) << 20;
  limits.max_send_queue_bytes = static_cast<size_t>(FLAGS_max_send_queue_kb) << 10;
  limits.max_buffered_s = FLAGS_max_buffered_s;
  limits.max_speed = FLAGS_max_speed;
  limits.max_sample_rate_hz = FLAGS_max_sample_rate;
  limits.max_recording_s = FLAGS_max_recording_s;
  limits.max_audio_s = FLAGS_max_audio_s;
  limits.header_timeout_s = FLAGS_header_timeout_s;
  limits.handshake_timeout_s = FLAGS_handshake_timeout_s;
  limits.idle_timeout_s = FLAGS_idle_timeout_s;
  limits.send_timeout_s = FLAGS_send_timeout_s;
  limits.max_upload_s = FLAGS_max_upload_s;
  limits.max_stream_s = FLAGS_max_stream_s;
  limits.drain_timeout_s = FLAGS_drain_timeout_s;
  limits.max_chunk_size = FLAGS_max_chunk_size;
  limits.max_left_context = FLAGS_max_left_context;
  limits.max_beam_size = FLAGS_max_beam_size;
  limits.max_nbest = FLAGS_max_nbest;
  return limits;
}

}  // namespace

const char* const kServerFlagsSource = __FILE__;

ServerOptions OptionsFromFlags() {
  CheckFlags();
  ServerOptions options;
  options.listen = FLAGS_listen;
  options.port = static_cast<uint16_t>(FLAGS_port);
  options.io_threads = FLAGS_io_threads;
  options.tls_certificate = FLAGS_tls_certificate;
  options.tls_key = FLAGS_tls_key;
  if (!FLAGS_bearer_token_file.empty()) options.token = ReadToken(FLAGS_bearer_token_file);
  options.trusted_proxies = FLAGS_trusted_proxy;
  options.snapshot_store = FLAGS_snapshot_store.empty()           ? DefaultSnapshotFolder()
                           : FLAGS_snapshot_store == kNoSnapshots ? ""
                                                                  : FLAGS_snapshot_store;
  options.snapshot_ttl_s = FLAGS_snapshot_ttl_s;
  options.max_snapshot_bytes = FLAGS_max_snapshot_mb << 20;
  options.snapshot_interval_s = FLAGS_snapshot_interval_s;
  options.default_options.chunk_size = FLAGS_chunk_size;
  options.default_options.left_context = FLAGS_left_context;
  options.recognizer.num_threads =
      FLAGS_num_threads > 0 ? FLAGS_num_threads
                            : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  options.recognizer.max_batch_streams = FLAGS_max_batch_streams;
  options.recognizer.max_batch_wait_ms = FLAGS_max_batch_wait_ms;
  options.limits = LimitsFromFlags();
  return options;
}

}  // namespace runnel::server
