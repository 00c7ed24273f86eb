#include "tools/benchmark/long_run.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tools/benchmark/machine.h"
#include "tools/benchmark/steady_streams.h"

namespace runnel {
namespace {

constexpr double kMinuteMs = 60000;
constexpr size_t kMinutesPerHour = 60;
constexpr int kTurns = 400;  // of the old and the new stream

// Keeps the chunk times of the first minute and of the last hour.
class Periods {
 public:
  explicit Periods(size_t num_minutes)
      : first_of_last_(num_minutes >= 2 * kMinutesPerHour ? num_minutes - kMinutesPerHour
                                                          : num_minutes - 1) {}

  void Add(size_t minute, const std::vector<double>& milliseconds) {
    if (minute == 0) first_ = milliseconds;
    if (minute < first_of_last_) return;
    last_.insert(last_.end(), milliseconds.begin(), milliseconds.end());
  }

  DurationSummary first() const { return Summarize(first_); }
  DurationSummary last() const { return Summarize(last_); }

 private:
  size_t first_of_last_;
  std::vector<double> first_;
  std::vector<double> last_;
};

void CompareInTurns(SteadyStreams* old_stream, SteadyStreams* new_stream, LongRun* run) {
  std::vector<double> old_ms;
  std::vector<double> new_ms;
  for (int i = 0; i < kTurns; ++i) {
    old_ms.push_back(MillisecondsOf([&] { old_stream->Step(); }));
    new_ms.push_back(MillisecondsOf([&] { new_stream->Step(); }));
  }
  run->old_stream = Summarize(old_ms);
  run->new_stream = Summarize(new_ms);
}

}  // namespace

LongRun RunForHours(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
                    const StreamingSetting& setting, MeasuredHead head, double hours,
                    const std::function<void(const StreamMinute&)>& on_minute) {
  const double chunk_ms = static_cast<double>(setting.chunk_size) * model->encoder_frame_ms();
  const auto num_chunks =
      std::max<int64_t>(1, std::llround(hours * kMinutesPerHour * kMinuteMs / chunk_ms));
  const auto minute_of = [&](int64_t chunk) {
    return static_cast<size_t>(static_cast<double>(chunk) * chunk_ms / kMinuteMs);
  };
  SteadyStreams stream(model, &pool, setting, head, 1, 1);
  stream.FillCaches();
  LongRun run;
  Periods periods(minute_of(num_chunks - 1) + 1);
  for (int64_t chunk = 0; chunk < num_chunks;) {
    const size_t minute = minute_of(chunk);
    std::vector<double> milliseconds;
    for (; chunk < num_chunks && minute_of(chunk) == minute; ++chunk) {
      milliseconds.push_back(MillisecondsOf([&] { stream.Step(); }));
    }
    periods.Add(minute, milliseconds);
    run.minutes.push_back({static_cast<int64_t>(minute), static_cast<int64_t>(milliseconds.size()),
                           Summarize(milliseconds), stream.bytes_per_stream(), ResidentBytes()});
    on_minute(run.minutes.back());
  }
  run.first_minute = periods.first();
  run.last_hour = periods.last();
  SteadyStreams new_stream(model, &pool, setting, head, 1, 1);
  new_stream.FillCaches();
  CompareInTurns(&stream, &new_stream, &run);
  return run;
}

std::string LongRunCsv(const std::vector<StreamMinute>& minutes) {
  std::string text = "minute,chunks,median_ms,p95_ms,min_ms,bytes_per_stream,resident_bytes\n";
  for (const StreamMinute& row : minutes) {
    char line[200];
    std::snprintf(line, sizeof(line), "%lld,%lld,%.6g,%.6g,%.6g,%lld,%lld\n",
                  static_cast<long long>(row.minute), static_cast<long long>(row.num_chunks),
                  row.chunk.median_ms, row.chunk.p95_ms, row.chunk.min_ms,
                  static_cast<long long>(row.bytes_per_stream),
                  static_cast<long long>(row.resident_bytes));
    text += line;
  }
  return text;
}

std::string LongRunSummary(const LongRun& run) {
  char text[600];
  std::snprintf(text, sizeof(text),
                "first minute: median %.3f ms; last hour: median %.3f ms; ratio %.4f\n"
                "in turns afterwards: new stream %.3f ms; old stream %.3f ms; ratio %.4f\n"
                "bytes per stream: %lld in the first minute, %lld in the last\n"
                "resident bytes: %lld after the first minute, %lld after the last\n",
                run.first_minute.median_ms, run.last_hour.median_ms,
                run.last_hour.median_ms / run.first_minute.median_ms, run.new_stream.median_ms,
                run.old_stream.median_ms, run.old_stream.median_ms / run.new_stream.median_ms,
                static_cast<long long>(run.minutes.front().bytes_per_stream),
                static_cast<long long>(run.minutes.back().bytes_per_stream),
                static_cast<long long>(run.minutes.front().resident_bytes),
                static_cast<long long>(run.minutes.back().resident_bytes));
  return text;
}

}  // namespace runnel
