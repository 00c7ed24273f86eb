// What Prometheus reads from the server: counts, gauges and latency histograms.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this). docs/deploy.md lists them.
#ifndef RUNNEL_TOOLS_SERVER_METRICS_H_
#define RUNNEL_TOOLS_SERVER_METRICS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/recognizer.h"
#include "tools/server/protocol.h"

namespace runnel::server {

// Why a client was turned away or cut off by a limit: label `reason` of runnel_rejections_total.
enum class Rejection {
  kFull,                    // max_streams
  kAddressFull,             // max_streams_per_address
  kUploadsFull,             // max_uploads
  kConnectionsFull,         // max_connections
  kAddressConnectionsFull,  // max_connections_per_address
  kDraining,
  kUnauthorized,
  kTlsHandshake,        // what came was no TLS handshake, or took too long
  kWebSocketHandshake,  // handshake_timeout
  kBadRequest,          // no HTTP
  kHeaderTimeout,       // header_timeout
  kHeaderTooLarge,      // max_header_bytes
  kUploadTimeout,       // max_upload
  kBodyTooLarge,        // max_body
  kRecordingTooLong,    // max_recording
  kMessageTooLarge,     // max_message_bytes
  kIdle,                // idle_timeout
  kTimeLimit,           // max_stream
  kAudioLimit,          // max_audio
  kSlowReader,          // send_timeout
};

// What is read at the moment of the scrape.
struct ServerState {
  int64_t num_streams = 0;
  int64_t num_connections = 0;
  int64_t max_streams = 0;
  int64_t queued_streams = 0;
  int64_t snapshot_bytes = 0;
  bool is_draining = false;
};

// Why nothing is read from a client for a while: label `reason` of runnel_pauses_total.
enum class Pause {
  kBuffer,    // max_buffered
  kSpeed,     // max_speed
  kSendQueue  // max_send_queue
};

enum class SnapshotResult { kStored, kSkipped, kFailed, kResumed };

// Thread-safe.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void CountRejection(Rejection reason);
  void CountStream(const std::string& protocol);
  void CountError(ErrorCode code);
  void CountPause(Pause reason);
  void CountSnapshot(SnapshotResult result);

  // For RecognizerOptions::on_batch.
  void ObserveBatch(const BatchReport& report);

  // In seconds. A chunk: its last sample accepted -> a partial result with it sent. First partial:
  // first audio of a stream received -> first result with text sent. Final: end of audio received
  // -> final result sent.
  void ObserveChunkLatency(double seconds);
  void ObserveFirstPartialLatency(double seconds);
  void ObserveFinalLatency(double seconds);

  // Everything in Prometheus' text format.
  std::string Text(const ServerState& state) const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_METRICS_H_
