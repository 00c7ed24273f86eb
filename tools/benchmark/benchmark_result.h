// The results of bench_encoder: a table for people, JSON and CSV for programs.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_BENCHMARK_REPORT_H_
#define RUNNEL_TOOLS_BENCHMARK_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model_config.h"
#include "tools/benchmark/machine.h"
#include "tools/benchmark/measurement.h"

namespace runnel {

// One row: what was measured, and what it is compared with.
struct BenchmarkResult {
  MeasurementOptions options;
  Measurement measurement;
  double chunk_ms = 0;                // of audio
  OperationCount operations;          // of one chunk of one stream
  std::optional<double> peak_gflops;  // 10^9 operations per second of one thread at best

  // Streams that a core decodes as fast as they are spoken.
  double realtime_streams_per_core() const;
  // How many times the baseline's time is ours.
  std::optional<double> speedup() const;
  std::optional<double> fraction_of_peak() const;
  // Of the time, what the large products would take alone, for one part and for all.
  std::optional<double> product_share(ProductPart part) const;
  std::optional<double> product_share() const;
};

// Lines that end with a newline.
std::string TableHead(const Machine& machine, const ModelConfig& config);
std::string TableRow(const BenchmarkResult& result);

// {"machine": {...}, "results": [...]}, what is not known is null.
std::string ReportJson(const Machine& machine, const std::vector<BenchmarkResult>& results);

// Every number, one line per result under a line of names.
std::string ReportCsv(const std::vector<BenchmarkResult>& results);

// Throws std::runtime_error when the file cannot be written.
void WriteTextFile(const std::string& path, const std::string& text);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_REPORT_H_
