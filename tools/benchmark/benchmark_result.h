// The results of bench_encoder: a table for people, JSON and CSV for programs.
#ifndef RUNNEL_TOOLS_BENCHMARK_BENCHMARK_RESULT_H_
#define RUNNEL_TOOLS_BENCHMARK_BENCHMARK_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model/model_config.h"
#include "tools/benchmark/machine.h"
#include "tools/benchmark/measurement.h"

namespace runnel {

// One row: a measurement and the values it is compared with.
struct BenchmarkResult {
  MeasurementOptions options;
  Measurement measurement;
  double chunk_ms = 0;                // duration of the chunk's audio
  OperationCount operations;          // of one chunk of one stream
  std::optional<double> peak_gflops;  // PeakGigaOperations, of one thread

  // Streams that a core decodes in real time.
  double realtime_streams_per_core() const;
  // Time of the baseline divided by that of Runnel.
  std::optional<double> speedup() const;
  std::optional<double> fraction_of_peak() const;
  // Share of the time that the large matmuls would take alone.
  std::optional<double> matmul_share() const;
};

// Both end with a newline.
std::string TableHead(const Machine& machine, const ModelConfig& config);
std::string TableRow(const BenchmarkResult& result);

// {"machine": {...}, "results": [...]}; unknown values are null.
std::string ReportJson(const Machine& machine, const std::vector<BenchmarkResult>& results);

// CSV of all values, with a header line and one line per result.
std::string ReportCsv(const std::vector<BenchmarkResult>& results);

// Throws std::runtime_error when the file cannot be written.
void WriteTextFile(const std::string& path, const std::string& text);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_BENCHMARK_RESULT_H_
