// The workers of a Recognizer, and what they and a LiveStream share.
// Flow: packets -> frontend -> encoder -> runtime (this, below recognizer) -> tools.
#ifndef RUNNEL_RUNTIME_RECOGNIZER_CORE_H_
#define RUNNEL_RUNTIME_RECOGNIZER_CORE_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/arrival_log.h"
#include "runtime/batch_queue.h"
#include "runtime/exit_gate.h"
#include "runtime/latency_histogram.h"
#include "runtime/live_stream.h"
#include "runtime/recognizer.h"
#include "runtime/sample_queue.h"

namespace runnel {

// Guarded by `mutex`, which everyone holds for moments only. The decoder itself is used without it,
// by whoever has claimed it: a worker for the time of a batch, or Snapshot and Fork. Callbacks run
// under neither.
struct LiveStream::State {
  using Clock = ArrivalLog::Clock;

  enum class Phase {
    kWaiting,   // for samples
    kQueued,    // for a worker
    kDecoding,  // a worker has it, also while its callback runs
    kOver
  };

  State(std::shared_ptr<RecognizerCore> recognizer, Stream decoder_stream, UpdateCallback callback,
        int max_hypotheses);

  // Samples that must wait for a chunk to be possible; none would be enough: the maximum.
  size_t SamplesWanted() const;

  // Both take the mutex.
  bool IsCancelled() const;
  // What NotifyRoom left, if its time has come; else empty.
  std::function<void()> TakeRoomCallback();

  // Constant.
  const std::shared_ptr<RecognizerCore> core;
  const bool is_polled;  // there is no callback
  const int nbest;
  const StreamOptions options;
  const size_t capacity;  // samples that wait at most

  // For whoever has claimed it.
  Stream stream;
  size_t seen_text = 0;    // bytes of stable text given in updates
  size_t seen_tokens = 0;  // likewise

  // Under mutex.
  mutable std::mutex mutex;
  std::condition_variable changed;  // `claimed`, `pending` or `phase`
  bool claimed = false;
  Phase phase = Phase::kWaiting;
  bool cancelled = false;
  SampleQueue waiting;
  ArrivalLog arrivals;      // counted as num_samples is
  int64_t num_samples = 0;  // accepted
  size_t wanted = 0;        // samples with which it queues up
  bool finish_requested = false;
  std::string overflow;  // "" or why no sample is accepted any more
  Clock::time_point finished_at;
  Clock::time_point queued_at;
  std::function<void()> on_room;
  std::optional<LiveUpdate> pending;  // for Poll
  std::shared_ptr<LiveStream> self;   // between Finish and the end: the owner may be gone

  std::mutex callback_mutex;  // held while a callback runs
  UpdateCallback on_update;   // under it; empty when the stream is over
  std::atomic<std::thread::id> callback_thread{};
};

// The right to use a stream's decoder; waits until nobody else has it.
class DecoderClaim {
 public:
  explicit DecoderClaim(LiveStream::State* state);
  ~DecoderClaim() { Release(); }
  DecoderClaim(DecoderClaim&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  DecoderClaim& operator=(DecoderClaim&& other) = delete;
  void Release();

 private:
  LiveStream::State* state_;
};

class RecognizerCore : public std::enable_shared_from_this<RecognizerCore> {
 public:
  RecognizerCore(std::shared_ptr<const Model> model, const RecognizerOptions& options);

  void Start();
  void Stop();

  // Makes a live stream of one that may have heard something.
  std::shared_ptr<LiveStream> Add(Stream stream, UpdateCallback on_update, int nbest);

  // Queues the stream up if it waits and there is something to do. Its mutex is held.
  void QueueIfReady(LiveStream* stream);

  // To be called once when a stream is over.
  void Remove(const LiveStream* stream);

  RecognizerStatus status() const;
  const std::shared_ptr<const Model>& model() const { return model_; }
  const RecognizerOptions& options() const { return options_; }

 private:
  struct Turn;  // of a stream in a batch

  void Work();
  void RunBatch(const std::vector<std::weak_ptr<LiveStream>>& batch, ExitGate::Pass* pass);
  void Decode(std::vector<std::shared_ptr<LiveStream>> batch, ExitGate::Pass* pass);
  void Report(const std::vector<Turn>& turns, double compute_ms);

  const std::shared_ptr<const Model> model_;
  const RecognizerOptions options_;
  BatchQueue<std::weak_ptr<LiveStream>> queue_;
  std::vector<std::thread> workers_;
  std::atomic<bool> is_stopping_{false};

  mutable std::mutex mutex_;  // of what follows
  std::unordered_map<const LiveStream*, std::weak_ptr<LiveStream>> streams_;
  bool stopped_ = false;
  RecognizerStatus totals_;
  LatencyHistogram queue_ms_;
  LatencyHistogram chunk_ms_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_RECOGNIZER_CORE_H_
