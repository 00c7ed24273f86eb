#include "runtime/live/batch_workers.h"

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "runtime/live/batch_entry.h"
#include "runtime/stream.h"
#include "runtime/threads.h"

namespace runnel {
namespace {

using Clock = StreamPool::Clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

// Whether a stream's chunks take so long that others should not wait for them.
bool HasLongChunks(const StreamOptions& options) {
  return options.chunk_size == StreamOptions::kWholeUtterance ||
         options.chunk_size > RecognizerOptions::kMaxGrownChunk;
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
  if (pass.is_inside()) SetThreadsPerOperation(1);
  while (TakeBatch(&pass)) {
  }
}

bool BatchWorkers::TakeBatch(ExitGate::Pass* pass) {
  pass->StepOut();
  const std::vector<std::weak_ptr<LiveStream>> batch = pool_->queue().Take();
  if (batch.empty()) return false;
  pass->StepIn();
  if (pass->is_inside()) RunBatch(batch, pass);
  return true;
}

void BatchWorkers::RunBatch(const std::vector<std::weak_ptr<LiveStream>>& batch,
                            ExitGate::Pass* pass) {
  std::vector<std::shared_ptr<LiveStream>> together;
  std::vector<std::shared_ptr<LiveStream>> alone;
  for (const std::weak_ptr<LiveStream>& queued : batch) {
    std::shared_ptr<LiveStream> live = queued.lock();
    if (live == nullptr) continue;
    (HasLongChunks(live->options()) ? alone : together).push_back(std::move(live));
  }
  Decode(std::move(together), pass);
  // Long chunks come one by one after the short ones, which do not wait for them. Their decoders
  // are not locked until then, so that a callback of an earlier stream can take their snapshots.
  for (std::shared_ptr<LiveStream>& live : alone) {
    if (!pass->is_inside()) return;  // the process exits
    Decode({std::move(live)}, pass);
  }
}

void BatchWorkers::Decode(std::vector<std::shared_ptr<LiveStream>> batch, ExitGate::Pass* pass) {
  const Clock::time_point start = pool_->now();
  std::vector<BatchEntry> entries;
  for (std::shared_ptr<LiveStream>& live : batch) {
    BatchEntry entry(std::move(live));
    if (entry.Feed(start)) entries.push_back(std::move(entry));
  }
  std::string error;
  std::vector<Stream*> streams;
  for (BatchEntry& entry : entries) {
    if (Stream* decoder = entry.decoder()) streams.push_back(decoder);
  }
  try {
    if (!streams.empty()) DecodeChunks(streams);
  } catch (const std::exception& failed) {  // the streams are half advanced
    error = failed.what();
  }
  for (BatchEntry& entry : entries) entry.MakeUpdate(error);
  const double compute_ms = 1000 * Seconds(pool_->now() - start);
  pass->StepOut();  // callbacks
  if (!streams.empty()) Report(entries, compute_ms);
  for (BatchEntry& entry : entries) entry.Deliver();
  const Clock::time_point end = pool_->now();
  BatchLoad load;
  load.busy_s = Seconds(end - start);
  for (const BatchEntry& entry : entries) entry.AddTo(&load, options_.max_batch_wait_ms);
  pool_->growth().Add(load, end);
  pass->StepIn();
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
