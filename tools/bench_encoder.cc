// bench_encoder: measures the time of a chunk and the number of streams per core in real time.
#include <gflags/gflags.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "platform/process.h"
#include "runtime/model.h"
#include "runtime/model/model_parts.h"
#include "runtime/model/packed_file.h"
#include "runtime/stream.h"
#include "tools/benchmark/baseline.h"
#include "tools/benchmark/benchmark_result.h"
#include "tools/benchmark/durations.h"
#include "tools/benchmark/feature_pool.h"
#include "tools/benchmark/long_run.h"
#include "tools/benchmark/machine.h"
#include "tools/benchmark/matmul_timer.h"
#include "tools/benchmark/matmuls.h"
#include "tools/benchmark/measurement.h"
#include "tools/benchmark/steady_streams.h"
#include "tools/cli/command_line.h"
#include "tools/cli/decimal.h"
#include "tools/cli/model_flags.h"
#include "tools/cli/output_check.h"
#include "tools/cli/tool_main.h"

DEFINE_string(streams, "1,2,4,8,16,32",
              "Numbers of streams to measure, separated by commas; a row of the table each.");
DEFINE_int64(chunk_size, runnel::StreamOptions::kModelDefault,
             "Encoder frames of a chunk, at least 1; -2: as the model recommends.");
DEFINE_int64(
    left_context, runnel::StreamOptions::kModelDefault,
    "Encoder frames before a chunk that it attends to, at least 0; -2: as the model recommends.");
DEFINE_int64(
    right_context, runnel::StreamOptions::kModelDefault,
    "Of an offline model: encoder frames after a chunk in its window, at least 0; -2: as the "
    "model recommends.");
DEFINE_bool(cached_windows, false,
            "Of windows: compute the left context once, and not anew in each window.");
DEFINE_string(head, "",
              "What follows the encoder: ctc, transducer (greedy search), or none. Empty: ctc if "
              "the model has it.");
DEFINE_int32(num_threads, 1, "Threads, each of which owns an equal part of the streams.");
DEFINE_int64(
    max_batch_streams, 0,
    "Streams of a thread that are decoded together; 0: all. The others follow in turn, as in "
    "a server, so that the state of a stream has left the CPU's caches.");
DEFINE_bool(baseline, false,
            "Time the file's own TorchScript forward_chunk in LibTorch in turns with Runnel, one "
            "stream per thread.");
DEFINE_string(json, "", "File to write the results to, as JSON.");
DEFINE_string(csv, "", "File to write all values to, as CSV; with --hours one row per minute.");
DEFINE_double(seconds, 2, "Seconds to measure for each row, and for its baseline.");
DEFINE_double(
    hours, 0,
    "Instead of the table, run one stream for this many hours of audio, as fast as possible.");

namespace runnel {
namespace {

constexpr char kUsage[] =
    R"(bench_encoder measures the time that a model needs for one chunk in the middle of a stream.

  bench_encoder M.pt [--streams=1,2,4,8,16,32] [--baseline] [--json=F] [flags]
  bench_encoder M.pt --hours=10 [--csv=F] [flags]

The time per chunk is that of one step of the encoder and a head over a batch of streams, divided by the
batch size. Features are computed beforehand and all caches are full. CTC is measured without a search, a
transducer with a greedy one. Columns:
  median, p95, min ms   time per chunk of one stream
  /core, /machine       streams decoded in real time
  MB each               memory of the state of a stream
  matmuls               share of the time that the large matmuls would take alone
  peak                  operations per second as a share of the CPU's peak, measured in the same run
  script ms, faster     time of the TorchScript baseline, and Runnel's speed-up over it
With --hours it prints the time per chunk of the first minute and the last hour; --csv adds each minute.
Exit code: 0 success, 1 something failed, 2 wrong flags.

Examples:
  bench_encoder models/digits/digits.pt --streams=1,16 --baseline
  bench_encoder models/digits/digits.pt --precision=int8 --num_threads=2 --json=b.json
  bench_encoder models/digits/digits.pt --streams=500 --max_batch_streams=16
  bench_encoder models/digits/digits.pt --hours=10 --csv=hours.csv
)";

constexpr int64_t kMaxStreams = 65536;
constexpr double kMinTime = 1e-3;  // of each unit
constexpr double kMaxSeconds = 600;
constexpr double kMaxHours = 1000;
constexpr double kPeakSeconds = 0.5;
constexpr int kLaterChunks = 20;

std::vector<int64_t> StreamsFromFlag() {
  std::vector<int64_t> streams;
  const std::string& text = FLAGS_streams;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    int64_t value = 0;
    const auto [rest, error] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (error != std::errc() || rest != text.data() + end || value < 1 || value > kMaxStreams) {
      throw std::invalid_argument("--streams is '" + text + "', expected numbers of 1 to " +
                                  std::to_string(kMaxStreams) + ", separated by commas");
    }
    streams.push_back(value);
    begin = end + 1;
  }
  const auto too_few = [](int64_t value) { return value < FLAGS_num_threads; };
  if (IsFlagGiven("streams") && std::any_of(streams.begin(), streams.end(), too_few)) {
    throw std::invalid_argument("--streams is '" + text + "', expected at least one per thread, " +
                                std::to_string(FLAGS_num_threads));
  }
  streams.erase(std::remove_if(streams.begin(), streams.end(), too_few), streams.end());
  if (streams.empty()) streams.push_back(FLAGS_num_threads);
  return streams;
}

void CheckFlags() {
  if (!FLAGS_head.empty() && FLAGS_head != "ctc" && FLAGS_head != "transducer" &&
      FLAGS_head != "none") {
    throw std::invalid_argument("--head is '" + FLAGS_head + "', expected ctc, transducer or none");
  }
  RequireFlag("model", kModelFile);
  RequireRange("num_threads", FLAGS_num_threads, 1, kMaxThreads);
  RequireRange("max_batch_streams", FLAGS_max_batch_streams, 0, kMaxStreams);
  RequireRange("seconds", FLAGS_seconds, kMinTime, kMaxSeconds, "s");
  if (IsFlagGiven("hours")) {
    RequireRange("hours", FLAGS_hours, kMinTime, kMaxHours, "h");
    for (const char* name :
         {"streams", "num_threads", "max_batch_streams", "baseline", "json", "seconds"}) {
      if (IsFlagGiven(name)) {
        throw std::invalid_argument("--" + std::string(name) +
                                    " cannot be given with --hours, which runs one stream");
      }
    }
  }
  for (const auto& [name, path] : {std::pair("json", FLAGS_json), std::pair("csv", FLAGS_csv)}) {
    if (path == "-") {
      throw std::invalid_argument("--" + std::string(name) +
                                  " is -, expected a file: the table goes to standard output");
    }
    CheckOutputIsNoInput(path, ModelInputFiles(), name);
    CheckOutputCanBeWritten(path);
  }
}

MeasuredHead HeadFromFlag(const Model& model) {
  const ModelParts& parts = model.parts();
  if (FLAGS_head == "none") return MeasuredHead::kNone;
  if (FLAGS_head == "ctc" || (FLAGS_head.empty() && parts.ctc_head != nullptr)) {
    parts.RequireCtcHead();
    return MeasuredHead::kCtc;
  }
  if (parts.transducer == nullptr) {
    throw std::invalid_argument("--head is " + FLAGS_head + ", but model " + model.name() +
                                " has no transducer");
  }
  return MeasuredHead::kTransducer;
}

StreamingSetting SettingFromFlags(const std::shared_ptr<const Model>& model) {
  StreamOptions options;
  options.chunk_size = FLAGS_chunk_size;
  options.left_context = FLAGS_left_context;
  options.right_context = FLAGS_right_context;
  options.cached_windows = FLAGS_cached_windows;
  options = Stream(model, options).options();
  const StreamingSetting setting{options.chunk_size, options.left_context, options.right_context,
                                 options.cached_windows};
  if (setting.chunk_size == -1 || setting.left_context == -1) {
    throw std::invalid_argument(
        "the whole utterance and unlimited left context have no steady state: --chunk_size and "
        "--left_context are " +
        setting.Name() + ", expected at least 1 and 0");
  }
  if (FLAGS_baseline && setting.right_context != StreamOptions::kNoRightContext) {
    throw std::invalid_argument("--baseline has no windows, expected --nobaseline with " +
                                setting.Name());
  }
  return setting;
}

// Time of loading, of the first chunk of one stream, and of later ones with full caches, as a line.
// The model must not have computed anything before, and the reference not be in memory.
std::string MeasureStartup(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
                           const StreamingSetting& setting, MeasuredHead head, double load_ms) {
  SteadyStreams stream(model, &pool, setting, head, 1, 1);
  const auto step_ms = [&] { return MillisecondsOf([&] { stream.Step(); }); };
  const double first_ms = step_ms();
  stream.FillCaches();
  std::vector<double> later_ms(kLaterChunks);
  for (double& ms : later_ms) ms = step_ms();
  return "model loaded in " + Decimal(load_ms / 1000, 3) + " s; first chunk " +
         Decimal(first_ms, 3) + " ms, later ones " + Decimal(Summarize(later_ms).median_ms, 3) +
         " ms; peak memory " + Decimal(static_cast<double>(PeakMemoryBytes()) / 1e6, 1) + " MB\n";
}

// baseline: null without --baseline.
void RunTable(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
              const StreamingSetting& setting, MeasuredHead head, const Baseline* baseline,
              Console* console) {
  Machine machine = DescribeMachine(model->ComputeDescription());
  BenchmarkResult result;
  result.options = {PrecisionName(model->parts().precision),
                    setting,
                    head,
                    1,
                    FLAGS_num_threads,
                    FLAGS_max_batch_streams,
                    FLAGS_seconds};
  result.chunk_ms = static_cast<double>(setting.chunk_size) * model->encoder_frame_ms();
  result.operations = OperationsPerChunk(model->parts().config, head, ComputedRows(setting));
  result.peak_gflops =
      PeakGigaOperations(result.options.precision, std::min(kPeakSeconds, FLAGS_seconds));
  // The table does not show it.
  if (!FLAGS_json.empty()) machine.memory_gb_per_second = MemoryBandwidth();
  std::vector<BenchmarkResult> results;
  std::printf("%s", TableHead(machine, model->parts().config).c_str());
  for (const int64_t num_streams : StreamsFromFlag()) {
    console->SetStatus(std::to_string(num_streams) + " streams");
    result.options.num_streams = num_streams;
    result.measurement = Measure(model, pool, baseline, result.options);
    console->SetStatus("");
    results.push_back(result);
    std::printf("%s", TableRow(result).c_str());
    FlushStandardOutput();
  }
  if (!FLAGS_json.empty()) WriteTextFile(FLAGS_json, ReportJson(machine, results));
  if (!FLAGS_csv.empty()) WriteTextFile(FLAGS_csv, ReportCsv(results));
}

void RunHours(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
              const StreamingSetting& setting, MeasuredHead head, Console* console) {
  const LongRun run = RunForHours(model, pool, setting, head, FLAGS_hours, [&](const auto& minute) {
    console->SetStatus("minute " + std::to_string(minute.minute + 1));
  });
  console->SetStatus("");
  std::printf("%s", LongRunSummary(run).c_str());
  if (!FLAGS_csv.empty()) WriteTextFile(FLAGS_csv, LongRunCsv(run.minutes));
}

int Run(Console* console) {
  CheckFlags();
  StreamsFromFlag();  // reports wrong values before the model loads
  if (FLAGS_baseline && !IsAsInFile()) {
    throw std::invalid_argument(
        "--baseline needs the model as its file's TorchScript computes it, without --units and "
        "substitutes");
  }
  if (FLAGS_baseline) RequireTorchScript("as a baseline (--nobaseline)");
  std::shared_ptr<const Model> model;
  const double load_ms = MillisecondsOf([&] { model = LoadModel(); });
  const StreamingSetting setting = SettingFromFlags(model);
  const MeasuredHead head = HeadFromFlag(*model);
  const FeaturePool pool(*model, FramesOfFirstChunk(model->parts().encoder, setting));
  if (IsFlagGiven("hours")) {
    RunHours(model, pool, setting, head, console);
  } else {
    const std::string startup = MeasureStartup(model, pool, setting, head, load_ms);
    std::unique_ptr<const Baseline> baseline;
    if (FLAGS_baseline) baseline = LoadBaseline(ModelFile(), model->parts().config.encoder);
    std::printf("%s", startup.c_str());
    FlushStandardOutput();
    RunTable(model, pool, setting, head, baseline.get(), console);
  }
  return kExitSuccess;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  runnel::ToolMain(argc, argv,
                   {"bench_encoder",
                    runnel::kUsage,
                    {{__FILE__}, runnel::kModelFlagsSource},
                    {"model", "precision", "streams", "num_threads", "json"},
                    {"model"}},
                   runnel::Run);
}
