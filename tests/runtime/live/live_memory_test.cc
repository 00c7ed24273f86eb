// Workers that run out of memory, at every allocation in turn. No exception leaves a worker, and no
// stream waits for ever: it ends, with or without an error.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "runtime/live/batch_workers.h"
#include "runtime/live/exit_gate.h"
#include "runtime/live/live_stream_state.h"
#include "runtime/live/stream_pool.h"
#include "runtime/recognizer.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace {

// Allocations of this thread until one fails; negative: none does.
thread_local int64_t num_left = -1;
thread_local bool has_failed = false;

void* Allocate(size_t size) {
  if (num_left >= 0 && num_left-- == 0) {
    has_failed = true;
    throw std::bad_alloc();
  }
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return Allocate(size); }
void* operator new[](size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t /*size*/) noexcept { std::free(memory); }

namespace runnel {
namespace {

using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;

RecognizerOptions WithoutWaiting() {
  RecognizerOptions options;
  options.max_batch_wait_ms = 0;
  return options;
}

// Two streams of which the test is the worker: one with a callback, and one that is polled.
class Play {
 public:
  Play()
      : pool_(std::make_shared<StreamPool>(WithoutWaiting())),
        workers_(std::make_shared<BatchWorkers>(pool_, WithoutWaiting())),
        pass_(&ExitGate::OfProcess(), &is_over_) {
    StreamOptions options = Options(4, 8);
    options.early_text.interval = 2;
    const std::vector<float> samples = NoiseOfChangingLevel(9000, 1);
    const auto listen = [this](LiveStream&, const LiveUpdate& update) {
      is_final_ = update.is_final;
    };
    streams_.push_back(MakeLiveStream(pool_, Stream(Tiny(), options), listen));
    streams_.push_back(MakeLiveStream(pool_, Stream(Tiny(), options), {}));
    for (const auto& stream : streams_) {
      stream->AcceptSamples(samples.data(), 6000);
      stream->FinalizeUtterance();
      stream->AcceptSamples(samples.data() + 6000, 3000);
      stream->NotifyRoom([] {});
    }
  }
  ~Play() { pool_->Close(); }

  // Batches as long as there are any, with memory for `count` allocations. Returns whether that was
  // enough.
  bool Decode(int64_t count) {
    has_failed = false;
    while (pool_->queue().size() > 0) {
      num_left = has_failed ? -1 : count;
      workers_->TakeBatch(&pass_);
      count = num_left;
    }
    num_left = -1;
    return !has_failed;
  }

  void ExpectEnds() {
    for (const auto& stream : streams_) stream->Finish();
    Decode(-1);
    for (const auto& stream : streams_) EXPECT_TRUE(stream->is_over());
    EXPECT_TRUE(is_final_);
    LiveUpdate update;
    EXPECT_TRUE(streams_.back()->Poll(&update));
    EXPECT_TRUE(update.is_final);
  }

 private:
  const std::atomic<bool> is_over_{false};
  const std::shared_ptr<StreamPool> pool_;
  const std::shared_ptr<BatchWorkers> workers_;
  ExitGate::Pass pass_;
  std::vector<std::shared_ptr<LiveStream>> streams_;
  bool is_final_ = false;
};

TEST(LiveMemoryTest, EveryStreamEndsWhereverMemoryRunsOut) {
  Play().Decode(-1);  // what is allocated once
  for (int64_t count = 0;; ++count) {
    SCOPED_TRACE(std::to_string(count) + " allocations");
    Play play;
    const bool is_enough = play.Decode(count);
    play.ExpectEnds();
    if (is_enough || ::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace runnel
