// The state of a live stream, which its owner's threads and the workers share.
#ifndef RUNNEL_RUNTIME_LIVE_LIVE_STREAM_STATE_H_
#define RUNNEL_RUNTIME_LIVE_LIVE_STREAM_STATE_H_

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
#include <utility>

#include "runtime/live/stream_pool.h"
#include "runtime/live/waiting_audio.h"
#include "runtime/live_stream.h"
#include "runtime/live_update.h"
#include "runtime/stream.h"

namespace runnel {

// Two locks guard a stream. `mutex` guards the fields below it and is held for moments only. A
// DecoderLock guards the decoder, `stream`: a worker holds it while it decodes a batch, Snapshot
// and Fork while they copy. Callbacks run under neither.
struct LiveStream::State {
  using Clock = WaitingAudio::Clock;

  enum class Phase {
    kWaiting,  // for samples
    kQueued,   // for a worker
    kDecoding  // in a worker's batch, also while its callback runs
  };

  State(std::shared_ptr<StreamPool> stream_pool, Stream decoder, UpdateCallback callback,
        std::string whose);

  // Samples that must wait before a chunk can be decoded; the maximum of size_t where only Finish
  // completes the chunk. Needs the DecoderLock, as the next two do.
  size_t SamplesWanted() const;
  // The same for the next preview, at most SamplesWanted().
  size_t SamplesToPreview() const;
  // The first encoder frame that no preview of the chunk to come has covered.
  int64_t NextPreview() const;

  // Queues the stream up when it waits for samples and enough are there. One that is queued already
  // hurries when an end has come near, or more audio. `live` is the owner of this state. The caller
  // holds `mutex`, as for the next four. After std::bad_alloc the stream still waits.
  void QueueIfReady(LiveStream* live);
  // kEnd: an utterance or the audio ends within the next three steps, two chunks and the rest
  // before the end. An end after more audio than that is not live. kLateChunk: the next chunk and
  // the one after it are there, or there is no room for more.
  StreamPool::Queue::Kind StepKind() const;
  // The StepSize of a chunk now, or of the whole utterance. A preview costs no more.
  double NextStepSize() const;
  // Whether NotifyRoom's callback is due. A stream that waits for samples always has room for some.
  bool RoomIsDue() const;
  // The callback of NotifyRoom when it is due, else an empty one.
  std::function<void()> TakeRoomCallback();

  bool IsCancelled() const;  // locks `mutex`

  // Constant.
  const std::shared_ptr<StreamPool> pool;
  const bool is_polled;  // there is no callback
  const StreamOptions options;
  const std::string account;
  const double samples_per_frame;  // encoder frame

  // Guarded by the DecoderLock.
  Stream stream;
  // Of what the updates so far told: Stream::text_begin, bytes of stable text, stable tokens.
  int64_t seen_begin = 0;
  size_t seen_text = 0;
  size_t seen_tokens = 0;
  std::string seen_tentative;
  int64_t previewed = 0;  // encoder frames that were decoded or previewed

  // Guarded by mutex.
  mutable std::mutex mutex;
  std::condition_variable changed;  // of `decoder_locked`, `pending` or `audio.is_over()`
  bool decoder_locked = false;
  Phase phase = Phase::kWaiting;
  WaitingAudio audio;
  size_t wanted = 0;             // SamplesToPreview after the last chunk or preview
  bool has_undelivered = false;  // the decoder was made with utterances for the first update
  Clock::time_point queued_at;
  double expected_s = 0;             // of computing time, when it was queued up
  StreamPool::Queue::Ticket ticket;  // while it is queued
  std::function<void()> on_room;
  std::optional<LiveUpdate> pending;  // for Poll
  std::shared_ptr<LiveStream> self;   // from Finish to the end, when the owner may be gone

  std::mutex callback_mutex;  // held while a callback runs
  UpdateCallback on_update;   // guarded by callback_mutex; empty when the stream is over
  std::atomic<std::thread::id> callback_thread{};
};

// Exclusive use of a stream's decoder. The constructor waits until no other lock is held.
class DecoderLock {
 public:
  explicit DecoderLock(LiveStream::State* state);
  ~DecoderLock() { Release(); }
  DecoderLock(DecoderLock&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  DecoderLock& operator=(DecoderLock&& other) = delete;
  void Release();

 private:
  LiveStream::State* state_;
};

// A live stream that continues `stream`, and whose computing time `account` is charged. Throws
// std::invalid_argument when a chunk is longer than pool->max_buffered_s(), and when the pool is
// closed.
std::shared_ptr<LiveStream> MakeLiveStream(const std::shared_ptr<StreamPool>& pool, Stream stream,
                                           UpdateCallback on_update, std::string account = "");

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_LIVE_STREAM_STATE_H_
