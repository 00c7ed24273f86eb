#include "runtime/live/batch_workers.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "runtime/live/batch_entry.h"
#include "runtime/live/error_of.h"
#include "runtime/live/step_cost.h"
#include "runtime/stream.h"

namespace runnel {
namespace {

using Clock = StreamPool::Clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// Whether a stream's chunks take so long that others should not wait for them.
bool HasLongChunks(const StreamOptions& options) {
  constexpr int64_t kLongChunk = 64;  // encoder frames
  return options.chunk_size == StreamOptions::kWholeUtterance ||
         options.chunk_size + ContextFrames(options) > kLongChunk;
}

// Of a batch for which there is no memory.
void EndForLackOfMemory(const std::shared_ptr<LiveStream>& live) {
  if (live == nullptr) return;
  BatchEntry entry(live);
  if (!entry.Fail("no memory for a batch")) return;
  entry.MakeUpdate("");
  entry.Deliver();
}

}  // namespace

BatchWorkers::BatchWorkers(std::shared_ptr<StreamPool> pool, const RecognizerOptions& options)
    : pool_(std::move(pool)), options_(options) {}

void BatchWorkers::Start() {
  ExitGate::CloseAtExit();
  for (int i = 0; i < options_.num_threads; ++i) {
    threads_.emplace_back([self = shared_from_this()] { self->Work(); });
  }
}

void BatchWorkers::Stop() {
  is_stopping_ = true;
  pool_->queue().Stop();
  ExitGate::OfProcess().WakeUp();
  for (std::thread& thread : threads_) {
    // A callback that calls exit() with a static Recognizer runs this itself, on a worker.
    if (thread.get_id() == std::this_thread::get_id()) {
      thread.detach();
    } else {
      thread.join();
    }
  }
}

void BatchWorkers::Work() {
  ExitGate::Pass pass(&ExitGate::OfProcess(), &is_stopping_);
  while (TakeBatch(&pass)) {
  }
}

bool BatchWorkers::TakeBatch(ExitGate::Pass* pass) {
  pass->StepOut();
  std::vector<std::weak_ptr<LiveStream>> batch;
  try {
    batch = pool_->queue().Take();
  } catch (const std::bad_alloc&) {  // nothing was taken; memory may come back
    std::this_thread::yield();
    return true;
  }
  if (batch.empty()) return false;
  pass->StepIn();
  if (pass->is_inside()) RunBatch(batch, pass);
  return true;
}

void BatchWorkers::RunBatch(const std::vector<std::weak_ptr<LiveStream>>& batch,
                            ExitGate::Pass* pass) {
  Streams streams;
  try {
    streams.reserve(batch.size());
  } catch (const std::bad_alloc&) {
    for (const std::weak_ptr<LiveStream>& queued : batch) EndForLackOfMemory(queued.lock());
    return;
  }
  for (const std::weak_ptr<LiveStream>& queued : batch) {
    if (std::shared_ptr<LiveStream> live = queued.lock()) streams.push_back(std::move(live));
  }
  const auto alone = std::stable_partition(streams.begin(), streams.end(), [](const auto& live) {
    return !HasLongChunks(live->options());
  });
  Decode(streams.begin(), alone, pass);
  // Long chunks come one by one after the short ones, which do not wait for them. Their decoders
  // are not locked until then, so that a callback of an earlier stream can take their snapshots.
  for (auto live = alone; live != streams.end(); ++live) {
    if (!pass->is_inside()) return;  // the process exits
    Decode(live, live + 1, pass);
  }
}

void BatchWorkers::Decode(Streams::iterator begin, Streams::iterator end, ExitGate::Pass* pass) {
  const Clock::time_point start = pool_->now();
  std::vector<BatchEntry> entries;
  std::vector<Stream*> streams;
  try {
    entries.reserve(static_cast<size_t>(end - begin));
    streams.reserve(static_cast<size_t>(end - begin));
  } catch (const std::bad_alloc&) {
    std::for_each(begin, end, &EndForLackOfMemory);
    return;
  }
  for (auto live = begin; live != end; ++live) {
    BatchEntry entry(std::move(*live));
    if (entry.Feed(start)) entries.push_back(std::move(entry));
  }
  for (BatchEntry& entry : entries) {
    if (Stream* decoder = entry.decoder()) streams.push_back(decoder);
  }
  // After an exception the streams are half advanced.
  const std::string error = ErrorOf([&] {
    if (!streams.empty()) DecodeChunks(streams);
  });
  for (BatchEntry& entry : entries) entry.MakeUpdate(error);
  const double compute_ms = 1000 * Seconds(pool_->now() - start);
  pass->StepOut();  // callbacks
  // The figures of this batch are lost when there is no memory for them.
  if (!streams.empty()) ErrorOf([&] { Report(entries, compute_ms); });
  for (BatchEntry& entry : entries) entry.Deliver();
  ErrorOf([&] { Charge(entries, Seconds(pool_->now() - start)); });
  pass->StepIn();
}

void BatchWorkers::Charge(const std::vector<BatchEntry>& entries, double busy_s) {
  double size = 0;
  for (const BatchEntry& entry : entries) size += entry.size();
  pool_->rate().Add(busy_s, size);
  const double per_size = size > 0 ? busy_s / size : 0;
  for (const BatchEntry& entry : entries) entry.Charge(entry.size() * per_size);
}

void BatchWorkers::Report(const std::vector<BatchEntry>& entries, double compute_ms) {
  BatchReport report;
  report.compute_ms = compute_ms;
  for (const BatchEntry& entry : entries) {
    if (!entry.has_chunk()) continue;
    report.queue_ms.push_back(entry.queue_ms());
    report.chunk_ms.push_back(entry.chunk_ms());
    report.audio_s += entry.advanced_ms() / 1000;
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++totals_.num_batches;
    totals_.num_chunks += static_cast<int64_t>(report.chunk_ms.size());
    totals_.audio_s += report.audio_s;
    totals_.compute_s += compute_ms / 1000;
    for (const double duration : report.queue_ms) queue_ms_.Add(duration);
    for (const double duration : report.chunk_ms) chunk_ms_.Add(duration);
  }
  if (options_.on_batch) options_.on_batch(report);
}

RecognizerStatus BatchWorkers::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  RecognizerStatus status = totals_;
  status.queue_ms_p50 = queue_ms_.QuantileMs(0.5);
  status.queue_ms_p95 = queue_ms_.QuantileMs(0.95);
  status.chunk_ms_p50 = chunk_ms_.QuantileMs(0.5);
  status.chunk_ms_p95 = chunk_ms_.QuantileMs(0.95);
  status.chunk_ms_p99 = chunk_ms_.QuantileMs(0.99);
  return status;
}

}  // namespace runnel
