#include "tools/benchmark/measurement.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <utility>

#include "runtime/model/model_parts.h"
#include "tools/benchmark/matmul_timer.h"
#include "tools/benchmark/steady_streams.h"
#include "tools/cli/run_in_threads.h"

namespace runnel {
namespace {

constexpr int kRounds = 4;            // of A B
constexpr int kStepsAfterChange = 3;  // not measured: the CPU's caches hold the other's data
constexpr int kBaselineWarmUp = 10;   // steps in which LibTorch profiles and compiles

// The data of one thread.
struct Worker {
  SteadyStreams streams;
  std::unique_ptr<BaselineStream> baseline;
  std::vector<double> stream_chunk_ms;
  std::vector<double> head_ms;
  std::vector<double> baseline_ms;
};

// Calls `work` with the number of each of `num_threads` threads, in that thread.
void RunNumbered(int num_threads,
                 const std::function<void(size_t, const std::atomic<bool>&)>& work) {
  std::atomic<size_t> next{0};
  std::atomic<bool> stopped{false};
  RunInThreads(
      num_threads, [&] { work(next++, stopped); }, [&] { stopped = true; });
}

// Runs steps in all threads at once for `seconds`, at least one in each. A thread that starts early
// or is done goes on with steps that are not recorded, so that all are measured under the same
// load.
void MeasureRound(int num_threads, double seconds, const std::function<void(size_t)>& step,
                  const std::function<void(size_t, double)>& record) {
  std::atomic<int> num_ready{0};
  std::atomic<int> num_done{0};
  RunNumbered(num_threads, [&](size_t thread, const std::atomic<bool>& stopped) {
    const auto step_until_all = [&](const std::atomic<int>& count) {
      while (count < num_threads && !stopped) step(thread);
    };
    for (int i = 0; i < kStepsAfterChange; ++i) step(thread);
    ++num_ready;
    step_until_all(num_ready);
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    do {
      record(thread, MillisecondsOf([&] { step(thread); }));
    } while (std::chrono::steady_clock::now() < end && !stopped);
    ++num_done;
    step_until_all(num_done);
  });
}

DurationSummary SummarizeAll(const std::vector<Worker>& workers,
                             std::vector<double> Worker::*milliseconds) {
  std::vector<double> all;
  for (const Worker& worker : workers) {
    all.insert(all.end(), (worker.*milliseconds).begin(), (worker.*milliseconds).end());
  }
  return Summarize(std::move(all));
}

// Of a thread that owns `num_streams`.
int64_t BatchSize(int64_t num_streams, const MeasurementOptions& options) {
  return options.max_batch_streams == 0 ? num_streams
                                        : std::min(num_streams, options.max_batch_streams);
}

std::vector<Worker> MakeWorkers(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
                                const Baseline* baseline, const MeasurementOptions& options) {
  std::vector<Worker> workers;
  int64_t first_stream = 0;
  for (int i = 0; i < options.num_threads; ++i) {
    const int64_t end = options.num_streams * (i + 1) / options.num_threads;
    const int64_t num_streams = end - first_stream;
    workers.push_back({SteadyStreams(model, &pool, options.setting, options.head, num_streams,
                                     BatchSize(num_streams, options), first_stream),
                       nullptr,
                       {},
                       {},
                       {}});
    if (baseline != nullptr) workers.back().baseline = baseline->MakeStream(&pool, options.setting);
    first_stream = end;
  }
  RunNumbered(options.num_threads, [&](size_t thread, const std::atomic<bool>&) {
    workers[thread].streams.FillCaches();
    for (int i = 0; i < kBaselineWarmUp && workers[thread].baseline; ++i) {
      workers[thread].baseline->Step();
    }
  });
  return workers;
}

// No value where they cannot be timed.
std::optional<double> MeasureMatmuls(const ModelConfig& config, const MeasurementOptions& options) {
  // Of the first thread.
  const int64_t batch = BatchSize(options.num_streams / options.num_threads, options);
  std::optional<double> result;
  RunNumbered(1, [&](size_t, const std::atomic<bool>&) {
    auto timer = MatmulTimer::Make(
        options.precision,
        LargeMatmuls(config, options.head, ComputedRows(options.setting).chunk_size, batch));
    if (!timer) return;
    const auto run = [&timer] {
      const std::array<double, kNumModelParts> parts = timer->Run();
      return std::accumulate(parts.begin(), parts.end(), 0.0);
    };
    run();
    std::vector<double> milliseconds;
    double spent_ms = 0;
    do {
      milliseconds.push_back(run());
      spent_ms += milliseconds.back();
    } while (spent_ms < options.seconds * 1000 / kRounds);
    result = Summarize(milliseconds).median_ms / static_cast<double>(batch);
  });
  return result;
}

}  // namespace

Measurement Measure(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
                    const Baseline* baseline, const MeasurementOptions& options) {
  std::vector<Worker> workers = MakeWorkers(model, pool, baseline, options);
  for (int round = 0; round < kRounds; ++round) {
    MeasureRound(
        options.num_threads, options.seconds / kRounds,
        [&](size_t thread) { workers[thread].streams.Step(); },
        [&](size_t thread, double milliseconds) {
          Worker& worker = workers[thread];
          const auto batch_size = static_cast<double>(worker.streams.batch_size());
          worker.stream_chunk_ms.push_back(milliseconds / batch_size);
          worker.head_ms.push_back(worker.streams.head_ms() / batch_size);
        });
    if (baseline == nullptr) continue;
    MeasureRound(
        options.num_threads, options.seconds / kRounds,
        [&](size_t thread) { workers[thread].baseline->Step(); },
        [&](size_t thread, double milliseconds) {
          workers[thread].baseline_ms.push_back(milliseconds);
        });
  }
  Measurement measurement;
  measurement.stream_chunk = SummarizeAll(workers, &Worker::stream_chunk_ms);
  measurement.head = SummarizeAll(workers, &Worker::head_ms);
  if (baseline != nullptr) measurement.baseline = SummarizeAll(workers, &Worker::baseline_ms);
  for (const Worker& worker : workers) {
    measurement.bytes_per_stream =
        std::max(measurement.bytes_per_stream, worker.streams.bytes_per_stream());
    measurement.tokens_per_frame =
        std::max(measurement.tokens_per_frame, worker.streams.tokens_per_frame());
  }
  measurement.matmuls_ms = MeasureMatmuls(model->parts().config, options);
  return measurement;
}

}  // namespace runnel
