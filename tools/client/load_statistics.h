// Statistics of many streams, and their reports as a table and as JSON.
#ifndef RUNNEL_TOOLS_CLIENT_LOAD_STATISTICS_H_
#define RUNNEL_TOOLS_CLIENT_LOAD_STATISTICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/live/latency_histogram.h"
#include "tools/client/session.h"

namespace runnel::client {

// Durations of one kind, in milliseconds.
class LatencyRecord {
 public:
  // Ignores negative values, which stand for latencies that were not measured.
  void Add(double milliseconds);
  double QuantileMs(double quantile) const;
  double max_ms() const { return max_ms_; }
  int64_t count() const { return histogram_.count(); }

 private:
  LatencyHistogram histogram_;
  double max_ms_ = 0;
};

struct Mismatch {
  std::string id;
  std::string expected;
  std::string text;
};

struct LoadStatistics {
  int64_t num_started = 0;
  int64_t num_done = 0;     // with a final result
  int64_t num_refused = 0;  // by a server that has no room
  int64_t num_failed = 0;   // without a final result, for any other reason
  int64_t num_behind = 0;   // done, but with a latency above behind_s
  int64_t num_resumes = 0;
  int64_t num_mismatched = 0;
  std::vector<Mismatch> mismatches;                   // the first few
  double audio_s = 0;                                 // of streams that are done
  std::map<std::string, int64_t> errors;              // number by code
  std::map<std::string, std::string> error_examples;  // message by code
  LatencyRecord first_partial;  // from the first packet sent to the first partial
  LatencyRecord chunk;          // PartialTiming::since_last_sample
  LatencyRecord server_chunk;   // PartialTiming::server_latency
  LatencyRecord end_of_speech;  // SessionListener::OnTurn
  LatencyRecord final_result;   // SessionResult::final_ms
  LatencyRecord server_final;   // SessionResult::server_final_ms

  // Counts a stream that has ended without success.
  void AddFailure(const SessionResult& result);
  bool is_success() const { return num_refused + num_failed + num_behind + num_mismatched == 0; }
};

// `wall_s`: of the whole run; `cpu_s`: CPU time of this process.
std::string LoadTable(const LoadStatistics& statistics, double wall_s, double cpu_s);
std::string LoadJson(const LoadStatistics& statistics, double wall_s, double cpu_s);

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_LOAD_STATISTICS_H_
