#include "tools/server/resources/metrics.h"

#include <dirent.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace runnel::server {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

constexpr std::array kReasons = {"full",
                                 "address_full",
                                 "uploads_full",
                                 "media_streams_full",
                                 "connections_full",
                                 "address_connections_full",
                                 "draining",
                                 "unauthorized",
                                 "origin",
                                 "tls_handshake",
                                 "websocket_handshake",
                                 "bad_request",
                                 "header_timeout",
                                 "header_too_large",
                                 "upload_timeout",
                                 "body_too_large",
                                 "recording_too_long",
                                 "message_too_large",
                                 "idle_timeout",
                                 "time_limit",
                                 "audio_limit",
                                 "slow_reader",
                                 "input_full"};
static_assert(static_cast<size_t>(Rejection::kInputFull) + 1 == kReasons.size());

constexpr std::array<const char*, kNumPauses> kPauses = {"buffer", "speed", "send_queue", "input",
                                                         "connections"};
static_assert(static_cast<size_t>(Pause::kConnections) + 1 == kPauses.size());

constexpr std::array<const char*, 6> kSnapshotResults = {"stored",  "skipped", "failed",
                                                         "resumed", "dropped", "late"};
static_assert(static_cast<size_t>(SnapshotResult::kLate) + 1 == kSnapshotResults.size());

// Label `result` of runnel_reloads_total.
constexpr char kRead[] = "read";
constexpr char kKept[] = "kept";  // a file cannot be used; all is as before

constexpr std::array<UtteranceEnd, 4> kUtteranceEnds = {
    UtteranceEnd::kEndpoint, UtteranceEnd::kEndToken, UtteranceEnd::kFinalize,
    UtteranceEnd::kFinish};

const Histogram::BucketBoundaries& LatencyBuckets() {
  static const Histogram::BucketBoundaries buckets = {
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,
      0.25,  0.35,   0.5,   0.75, 1,     1.5,  2.5,   5,   10,   30};
  return buckets;
}

Counter& AddCounter(prometheus::Registry* registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(*registry).Add({});
}

Family<Counter>& AddCounters(prometheus::Registry* registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(*registry);
}

Gauge& AddGauge(prometheus::Registry* registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(*registry).Add({});
}

Histogram& AddHistogram(prometheus::Registry* registry, const char* name, const char* help,
                        const Histogram::BucketBoundaries& buckets = LatencyBuckets()) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(*registry).Add({}, buckets);
}

// Memory of this process that is in RAM; 0 when it is unknown.
double ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  double resident_pages = 0;
  if (!(file >> pages >> resident_pages)) return 0;
  return resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// Without the one that is open for counting.
double OpenDescriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return 0;
  int count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count - 3;  // ".", ".." and the folder itself
}

}  // namespace

struct Metrics::Families {
  mutable prometheus::Registry registry;
  Family<Counter>& rejections = AddCounters(&registry, "runnel_rejections_total",
                                            "Clients turned away or cut off, by reason");
  Family<Counter>& streams =
      AddCounters(&registry, "runnel_streams_total", "Streams started or resumed, by protocol");
  Family<Counter>& errors = AddCounters(&registry, "runnel_errors_total",
                                        "Streams that ended with an error, by its code");
  Family<Counter>& pauses =
      AddCounters(&registry, "runnel_pauses_total",
                  "Times that the server stopped reading from a stream: its "
                  "buffer was full, it was faster than "
                  "--max_speed, its client did not read results, or its "
                  "message had no room in --max_input_mb; or that a connection "
                  "waited (--max_connection_rate)");
  Family<Counter>& snapshots = AddCounters(
      &registry, "runnel_snapshots_total",
      "Snapshots stored, skipped because the store is behind or full, failed, resumed from, "
      "dropped "
      "from a full store for clients that have less in it, and late because the one before is not "
      "stored yet");
  Family<Counter>& reloads = AddCounters(
      &registry, "runnel_reloads_total",
      "Times that SIGHUP asked for the files of certificate, token and lists, by outcome");
  Family<Gauge>& certificate_expiry =
      prometheus::BuildGauge()
          .Name("runnel_certificate_expiry_seconds")
          .Help("When the certificate of new connections expires, in seconds since 1970")
          .Register(registry);
  Counter& audio = AddCounter(&registry, "runnel_audio_seconds_total", "Audio decoded");
  Counter& compute =
      AddCounter(&registry, "runnel_compute_seconds_total", "Time that workers spent decoding");
  Gauge& real_time_factor = AddGauge(
      &registry, "runnel_real_time_factor",
      "Compute seconds per second of audio since the start; rate() of the two counters gives "
      "that of any span");
  Gauge& num_streams = AddGauge(&registry, "runnel_streams", "Streams now");
  Gauge& max_streams = AddGauge(&registry, "runnel_max_streams", "Streams at most");
  Gauge& num_connections = AddGauge(&registry, "runnel_connections", "Open connections now");
  Gauge& queued = AddGauge(&registry, "runnel_queued_streams",
                           "Streams now with a chunk that waits for a worker");
  Gauge& snapshot_bytes =
      AddGauge(&registry, "runnel_snapshot_bytes",
               "Snapshots in the folder now, also those of other servers; 0 for Redis");
  Gauge& input_bytes =
      AddGauge(&registry, "runnel_input_bytes", "Messages of clients now that wait to be decoded");
  Histogram& event_loop_delay =
      AddHistogram(&registry, "runnel_event_loop_delay_seconds",
                   "How much later than it could a network thread ran a handler");
  Gauge& draining = AddGauge(&registry, "runnel_draining", "1 when no new streams are accepted");
  Gauge& resident = AddGauge(&registry, "process_resident_memory_bytes", "Memory in RAM");
  Gauge& descriptors = AddGauge(&registry, "process_open_fds", "Open file descriptors");
  Histogram& batch = AddHistogram(&registry, "runnel_batch_streams", "Streams per batch",
                                  {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64});
  Histogram& queue = AddHistogram(&registry, "runnel_queue_seconds",
                                  "From a chunk's last sample to the start of its batch");
  Histogram& chunk = AddHistogram(&registry, "runnel_chunk_latency_seconds",
                                  "From a chunk's last sample to its partial result sent");
  Histogram& first_partial = AddHistogram(
      &registry, "runnel_first_partial_latency_seconds",
      "From the first audio of a stream to its first text sent; contains the audio that the "
      "first text takes");
  Histogram& final_result = AddHistogram(&registry, "runnel_final_latency_seconds",
                                         "From the end of the audio to the final result sent");
  Family<Counter>& utterances = AddCounters(&registry, "runnel_utterances_total",
                                            "Utterances that ended: at an endpoint, by a flush of "
                                            "the client, or with the audio");
  Histogram& endpoint_delay = AddHistogram(
      &registry, "runnel_endpoint_delay_seconds",
      "From the last token of an utterance to its result: the audio up to the end of the chunk in "
      "which the endpoint was found, and the latency of that chunk",
      {0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 5, 7.5, 10, 20, 30});
  Histogram& flush = AddHistogram(&registry, "runnel_flush_latency_seconds",
                                  "From a flush of the client to the result of its utterance");
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {
  // The series exist from the start with the value 0, so that rate() shows the first event.
  for (const char* reason : kReasons) families_->rejections.Add({{"reason", reason}});
  for (const char* reason : kPauses) families_->pauses.Add({{"reason", reason}});
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    families_->errors.Add({{"code", CodeName(static_cast<ErrorCode>(code))}});
  }
  for (const char* result : {kRead, kKept}) families_->reloads.Add({{"result", result}});
  for (const char* result : kSnapshotResults) families_->snapshots.Add({{"result", result}});
  for (const UtteranceEnd end : kUtteranceEnds) families_->utterances.Add({{"end", NameOf(end)}});
}

Metrics::~Metrics() = default;

void Metrics::CountRejection(Rejection reason) {
  families_->rejections.Add({{"reason", kReasons[static_cast<size_t>(reason)]}}).Increment();
}

void Metrics::CountStream(const std::string& protocol) {
  families_->streams.Add({{"protocol", protocol}}).Increment();
}

void Metrics::CountError(ErrorCode code) {
  families_->errors.Add({{"code", CodeName(code)}}).Increment();
}

void Metrics::CountPause(Pause reason) {
  families_->pauses.Add({{"reason", kPauses[static_cast<size_t>(reason)]}}).Increment();
}

void Metrics::CountSnapshot(SnapshotResult result) {
  families_->snapshots.Add({{"result", kSnapshotResults[static_cast<size_t>(result)]}}).Increment();
}

void Metrics::CountReload(bool was_read) {
  families_->reloads.Add({{"result", was_read ? kRead : kKept}}).Increment();
}

void Metrics::SetCertificateExpiry(int64_t seconds) {
  families_->certificate_expiry.Add({}).Set(static_cast<double>(seconds));
}

void Metrics::CountUtterances(const std::vector<Utterance>& utterances) {
  for (const Utterance& utterance : utterances) {
    families_->utterances.Add({{"end", NameOf(utterance.end)}}).Increment();
  }
}

void Metrics::ObserveUtterances(const LiveUpdate& update) {
  CountUtterances(update.utterances);
  for (const Utterance& utterance : update.utterances) {
    if (utterance.end == UtteranceEnd::kEndpoint || utterance.end == UtteranceEnd::kEndToken) {
      const double audio_ms = std::max(0.0, update.audio_ms - utterance.end_ms);
      families_->endpoint_delay.Observe((audio_ms + update.latency_ms) / 1000);
    } else if (utterance.end == UtteranceEnd::kFinalize) {
      families_->flush.Observe(update.latency_ms / 1000);
    }
  }
}

void Metrics::ObserveBatch(const BatchReport& report) {
  families_->batch.Observe(static_cast<double>(report.queue_ms.size()));
  for (const double ms : report.queue_ms) families_->queue.Observe(ms / 1000);
  families_->audio.Increment(report.audio_s);
  families_->compute.Increment(report.compute_ms / 1000);
}

void Metrics::ObserveEventLoopDelay(double seconds) {
  families_->event_loop_delay.Observe(seconds);
}

void Metrics::ObserveChunkLatency(double seconds) { families_->chunk.Observe(seconds); }

void Metrics::ObserveFirstPartialLatency(double seconds) {
  families_->first_partial.Observe(seconds);
}

void Metrics::ObserveFinalLatency(double seconds) { families_->final_result.Observe(seconds); }

std::string Metrics::Text(const ServerState& state) const {
  families_->num_streams.Set(static_cast<double>(state.num_streams));
  families_->max_streams.Set(static_cast<double>(state.max_streams));
  families_->num_connections.Set(static_cast<double>(state.num_connections));
  families_->queued.Set(static_cast<double>(state.queued_streams));
  families_->snapshot_bytes.Set(static_cast<double>(state.snapshot_bytes));
  families_->input_bytes.Set(static_cast<double>(state.input_bytes));
  families_->draining.Set(state.is_draining ? 1 : 0);
  families_->resident.Set(ResidentBytes());
  families_->descriptors.Set(OpenDescriptors());
  const double audio = families_->audio.Value();
  families_->real_time_factor.Set(audio > 0 ? families_->compute.Value() / audio : 0);
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families_->registry.Collect());
  return text.str();
}

}  // namespace runnel::server
