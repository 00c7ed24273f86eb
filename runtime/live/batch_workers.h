// The worker threads of a recognizer: each takes batches of streams from the pool and decodes them.
//
// This folder implements Recognizer and LiveStream. BatchWorkers depends on BatchEntry (one stream
// in one batch), that on LiveStream::State, and that on StreamPool.
#ifndef RUNNEL_RUNTIME_LIVE_BATCH_WORKERS_H_
#define RUNNEL_RUNTIME_LIVE_BATCH_WORKERS_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/live/exit_gate.h"
#include "runtime/live/latency_histogram.h"
#include "runtime/live/stream_pool.h"
#include "runtime/recognizer.h"

namespace runnel {

class BatchEntry;

class BatchWorkers : public std::enable_shared_from_this<BatchWorkers> {
 public:
  // `options` are valid.
  BatchWorkers(std::shared_ptr<StreamPool> pool, const RecognizerOptions& options);

  // Throws std::system_error when a thread cannot be started; Stop is still to be called then.
  void Start();
  // Waits for the threads. No batch is begun afterwards.
  void Stop();

  // Waits for a batch and decodes it; false after Stop. A worker does nothing else. `pass`: of the
  // calling thread.
  bool TakeBatch(ExitGate::Pass* pass);

  // The counts and durations of the batches so far; nothing of the streams.
  RecognizerStatus status() const;

 private:
  void Work();
  void RunBatch(const std::vector<std::weak_ptr<LiveStream>>& batch, ExitGate::Pass* pass);
  // Advances the streams of begin ... end-1 by a chunk, in one batch.
  using Streams = std::vector<std::shared_ptr<LiveStream>>;
  void Decode(Streams::iterator begin, Streams::iterator end, ExitGate::Pass* pass);
  void Report(const std::vector<BatchEntry>& entries, double compute_ms);
  // Charges the accounts what their streams took of a batch that kept a worker busy.
  void Charge(const std::vector<BatchEntry>& entries, double busy_s);

  const std::shared_ptr<StreamPool> pool_;
  const RecognizerOptions options_;
  std::vector<std::thread> threads_;
  std::atomic<bool> is_stopping_{false};

  mutable std::mutex mutex_;  // guards what follows
  RecognizerStatus totals_;
  LatencyHistogram queue_ms_;
  LatencyHistogram chunk_ms_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_BATCH_WORKERS_H_
