#include "tools/benchmark/benchmark_result.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace runnel {
namespace {

// "-" where there is no value.
std::string Fixed(std::optional<double> value, int decimals, const std::string& unit = "") {
  if (!value) return "-";
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, *value);
  return text + unit;
}

std::string Percent(std::optional<double> share) {
  return share ? Fixed(*share * 100, 0, "%") : "-";
}

std::string Join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "" : " ") + word;
  return joined;
}

std::string Row(const std::vector<std::string>& cells) {
  constexpr std::array<int, 16> kWidths = {9, 7, 5, 5, 5, 7, 9, 9, 9, 8, 8, 8, 8, 6, 9, 7};
  std::string row;
  for (size_t i = 0; i < cells.size(); ++i) {
    char cell[64];
    const int width = kWidths.at(i);
    std::snprintf(cell, sizeof(cell), "%*s", i == 0 ? -width : width, cells[i].c_str());
    row += (i == 0 ? "" : " ") + std::string(cell);
  }
  return row + "\n";
}

nlohmann::ordered_json OrNull(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

// Empty where there is no value.
std::string CsvCell(const std::optional<double>& value) {
  if (!value) return "";
  char text[64];
  std::snprintf(text, sizeof(text), "%.6g", *value);
  return text;
}

}  // namespace

double BenchmarkResult::realtime_streams_per_core() const {
  return chunk_ms / measurement.stream_chunk.median_ms;
}

std::optional<double> BenchmarkResult::speedup() const {
  if (!measurement.baseline) return std::nullopt;
  return measurement.baseline->median_ms / measurement.stream_chunk.median_ms;
}

std::optional<double> BenchmarkResult::fraction_of_peak() const {
  if (!peak_gflops) return std::nullopt;
  const double seconds = measurement.stream_chunk.median_ms * 1e-3;
  return static_cast<double>(operations.total()) / seconds / (*peak_gflops * 1e9);
}

std::optional<double> BenchmarkResult::matmul_share() const {
  if (!measurement.matmuls_ms) return std::nullopt;
  return *measurement.matmuls_ms / measurement.stream_chunk.median_ms;
}

std::string TableHead(const Machine& machine, const ModelConfig& config) {
  std::string head = config.name + " on " + machine.cpu + " (" + Join(machine.isa) + "), " +
                     std::to_string(machine.num_cores) + " cores\n" + machine.compute + "\n";
  head +=
      "ms: time per chunk of one stream; matmuls: share of it that the large matmuls take "
      "alone\n";
  return head +
         Row({"precision", "streams", "C", "M", "R", "threads", "median ms", "p95 ms", "min ms",
              "/core", "/machine", "MB each", "matmuls", "peak", "script ms", "faster"});
}

std::string TableRow(const BenchmarkResult& result) {
  const MeasurementOptions& options = result.options;
  const DurationSummary& time = result.measurement.stream_chunk;
  const auto& baseline = result.measurement.baseline;
  const double per_core = result.realtime_streams_per_core();
  return Row(
      {options.precision, std::to_string(options.num_streams),
       std::to_string(options.setting.chunk_size), std::to_string(options.setting.left_context),
       options.setting.right_context == -1 ? "-" : std::to_string(options.setting.right_context),
       std::to_string(options.num_threads), Fixed(time.median_ms, 3), Fixed(time.p95_ms, 3),
       Fixed(time.min_ms, 3), Fixed(per_core, 1), Fixed(per_core * options.num_threads, 1),
       Fixed(static_cast<double>(result.measurement.bytes_per_stream) / 1e6, 2),
       Percent(result.matmul_share()), Percent(result.fraction_of_peak()),
       baseline ? Fixed(baseline->median_ms, 3) : "-", Fixed(result.speedup(), 2, "x")});
}

std::string ReportJson(const Machine& machine, const std::vector<BenchmarkResult>& results) {
  nlohmann::ordered_json report;
  report["machine"] = {{"cpu", machine.cpu},
                       {"isa", machine.isa},
                       {"cores", machine.num_cores},
                       {"compute", machine.compute},
                       {"memory_gb_per_second", OrNull(machine.memory_gb_per_second)}};
  for (const auto& [name, version] : machine.libraries) {
    report["machine"]["libraries"][name] = version;
  }
  for (const BenchmarkResult& result : results) {
    if (result.peak_gflops) {
      report["machine"]["peak_gflops_per_core"][result.options.precision] = *result.peak_gflops;
    }
  }
  report["results"] = nlohmann::ordered_json::array();
  for (const BenchmarkResult& result : results) {
    report["results"].push_back(
        {{"precision", result.options.precision},
         {"streams", result.options.num_streams},
         {"chunk_size", result.options.setting.chunk_size},
         {"left_context", result.options.setting.left_context},
         {"right_context", result.options.setting.right_context},
         {"cached_windows", result.options.setting.cached_windows},
         {"num_threads", result.options.num_threads},
         {"max_batch_streams", result.options.max_batch_streams},
         {"ms_per_stream_chunk_median", result.measurement.stream_chunk.median_ms},
         {"ms_per_stream_chunk_p95", result.measurement.stream_chunk.p95_ms},
         {"head_ms_per_stream_chunk_median", result.measurement.head.median_ms},
         {"realtime_streams_per_core", result.realtime_streams_per_core()},
         {"speedup_over_torchscript", OrNull(result.speedup())},
         {"fraction_of_peak", OrNull(result.fraction_of_peak())},
         {"bytes_per_stream", result.measurement.bytes_per_stream},
         {"tokens_per_frame", result.measurement.tokens_per_frame}});
  }
  return report.dump(1) + "\n";
}

std::string ReportCsv(const std::vector<BenchmarkResult>& results) {
  std::string text =
      "precision,streams,chunk_size,left_context,right_context,num_threads,median_ms,p95_ms,min_ms,"
      "head_ms,"
      "realtime_streams_per_core,bytes_per_stream,dense_operations,attention_operations,peak_"
      "gflops,fraction_of_peak,"
      "baseline_median_ms,baseline_min_ms,speedup,matmul_share\n";
  for (const BenchmarkResult& result : results) {
    const MeasurementOptions& options = result.options;
    const DurationSummary& time = result.measurement.stream_chunk;
    const auto& baseline = result.measurement.baseline;
    const auto baseline_time = [&](double DurationSummary::*member) {
      return baseline ? std::optional<double>((*baseline).*member) : std::nullopt;
    };
    text += options.precision;
    for (const int64_t value :
         {options.num_streams, options.setting.chunk_size, options.setting.left_context,
          options.setting.right_context, int64_t{options.num_threads}}) {
      text += "," + std::to_string(value);
    }
    for (const double value :
         {time.median_ms, time.p95_ms, time.min_ms, result.measurement.head.median_ms,
          result.realtime_streams_per_core()}) {
      text += "," + CsvCell(value);
    }
    text += "," + std::to_string(result.measurement.bytes_per_stream) + "," +
            std::to_string(result.operations.dense()) + "," +
            std::to_string(result.operations.attention);
    for (const std::optional<double>& value :
         {result.peak_gflops, result.fraction_of_peak(), baseline_time(&DurationSummary::median_ms),
          baseline_time(&DurationSummary::min_ms), result.speedup(), result.matmul_share()}) {
      text += "," + CsvCell(value);
    }
    text += "\n";
  }
  return text;
}

void WriteTextFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot create: " + std::strerror(errno));
  file << text;
  file.close();
  if (!file) throw std::runtime_error(path + ": cannot write: " + std::strerror(errno));
}

}  // namespace runnel
