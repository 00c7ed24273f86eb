// A recognizer of which the test is the worker and the clock, so that all is deterministic.
#ifndef RUNNEL_TESTS_SUPPORT_MANUAL_WORKER_H_
#define RUNNEL_TESTS_SUPPORT_MANUAL_WORKER_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "runtime/live/batch_workers.h"
#include "runtime/live/exit_gate.h"
#include "runtime/live/live_stream_state.h"
#include "runtime/live/stream_pool.h"
#include "runtime/recognizer.h"
#include "tests/support/tiny_streams.h"

namespace runnel::testing {

class ManualWorker {
 public:
  using Clock = StreamPool::Clock;

  explicit ManualWorker(const RecognizerOptions& options)
      : pool_(std::make_shared<StreamPool>(options, [this] { return now_; })),
        workers_(std::make_shared<BatchWorkers>(pool_, options)),
        pass_(&ExitGate::OfProcess(), &is_over_) {}
  ~ManualWorker() { pool_->Close(); }
  ManualWorker(const ManualWorker&) = delete;
  ManualWorker& operator=(const ManualWorker&) = delete;

  std::shared_ptr<LiveStream> Open(const StreamOptions& options, UpdateCallback on_update,
                                   const std::string& account = "") {
    return MakeLiveStream(pool_, Stream(Tiny(), options), std::move(on_update), account);
  }

  // Decodes a batch, which must be due at the time of the clock.
  bool TakeBatch() { return workers_->TakeBatch(&pass_); }
  // Streams that wait for a batch.
  size_t num_queued() const { return pool_->queue().size(); }

  Clock::time_point now() const { return now_; }
  void Advance(Clock::duration duration) { now_ += duration; }

 private:
  Clock::time_point now_{};
  const std::shared_ptr<StreamPool> pool_;
  const std::shared_ptr<BatchWorkers> workers_;
  const std::atomic<bool> is_over_{false};
  ExitGate::Pass pass_;
};

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_MANUAL_WORKER_H_
