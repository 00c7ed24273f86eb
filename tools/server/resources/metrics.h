// The server's metrics for Prometheus: counters, gauges and latency histograms.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_METRICS_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_METRICS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/live_update.h"
#include "runtime/recognizer.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server {

// Why a client was refused or cut off: label `reason` of runnel_rejections_total. The table of
// limits (limits.h) names the limit of each.
enum class Rejection {
  kFull,
  kAddressFull,
  kUploadsFull,
  kMediaStreamsFull,
  kConnectionsFull,
  kAddressConnectionsFull,
  kDraining,
  kUnauthorized,
  kOrigin,        // a web page that may not use the server
  kTlsHandshake,  // failed, or took too long
  kWebSocketHandshake,
  kBadRequest,  // not HTTP
  kHeaderTimeout,
  kHeaderTooLarge,
  kUploadTimeout,
  kBodyTooLarge,
  kRecordingTooLong,
  kMessageTooLarge,
  kIdle,
  kTimeLimit,
  kAudioLimit,
  kSlowReader,
  kInputFull,
};

// Values at the moment of a scrape.
struct ServerState {
  int64_t num_streams = 0;
  int64_t num_connections = 0;
  int64_t max_streams = 0;
  int64_t queued_streams = 0;
  int64_t snapshot_bytes = 0;
  int64_t input_bytes = 0;
  bool is_draining = false;
};

// Why the server stops reading from a client for a while: label `reason` of runnel_pauses_total.
enum class Pause { kBuffer, kSpeed, kSendQueue, kInput, kConnections };
constexpr int kNumPauses = 5;

// Label `result` of runnel_snapshots_total.
enum class SnapshotResult {
  kStored,
  kSkipped,  // the store is behind or full
  kFailed,
  kResumed,
  kDropped,  // for a client that has less in a full store
  kLate      // the one before has not been stored for a whole snapshot_interval_s
};

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
  void CountUtterances(const std::vector<Utterance>& utterances);

  // The files of certificate, token and lists were read again, or could not be.
  void CountReload(bool was_read);
  // In seconds since 1970.
  void SetCertificateExpiry(int64_t seconds);

  // For RecognizerOptions::on_batch.
  void ObserveBatch(const BatchReport& report);

  // How much later than it could, in seconds, a network thread ran a handler.
  void ObserveEventLoopDelay(double seconds);

  // In seconds. Chunk: from its last sample accepted to its result sent. First partial: from the
  // first audio of a stream received to its first result with text sent. Final: from the end of the
  // audio received to the final result sent.
  void ObserveChunkLatency(double seconds);
  void ObserveFirstPartialLatency(double seconds);
  void ObserveFinalLatency(double seconds);

  // An update of a live stream, not merged with others: counts its utterances and observes, in
  // seconds, how long each was waited for. Endpoint delay: the audio from the end of the last token
  // to the end of the chunk in which the endpoint was found, and the latency of that chunk. Flush:
  // from FinalizeUtterance to the update.
  void ObserveUtterances(const LiveUpdate& update);

  // Everything in Prometheus' text format.
  std::string Text(const ServerState& state) const;

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_METRICS_H_
