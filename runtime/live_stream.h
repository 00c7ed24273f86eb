// One live stream of a Recognizer: fed from any thread, read by a callback or by polling.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools.
#ifndef RUNNEL_RUNTIME_LIVE_STREAM_H_
#define RUNNEL_RUNTIME_LIVE_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/live_update.h"
#include "runtime/stream.h"

namespace runnel {

class LiveStream;

// Called from a worker thread: for one stream one at a time, in order. It may call every method of
// the stream; Snapshot then gives the stream of this very moment. It must not throw, and should be
// short: the worker waits. A stream whose callback keeps a shared_ptr to it lives until it is over.
// Two callbacks that cancel each other's streams would wait for each other for ever.
using UpdateCallback = std::function<void(LiveStream& stream, const LiveUpdate& update)>;

// Made by Recognizer::Open and Restore. Thread-safe: every method from any thread. None waits for
// a computation, but for Snapshot and Fork, which wait for a chunk of this stream that is just
// being decoded, and Cancel, for a callback of this stream that runs. When its owner lets go of it
// before Finish, it is cancelled; after Finish, it is decoded to its end all the same.
class LiveStream : public std::enable_shared_from_this<LiveStream> {
 public:
  struct State;

  explicit LiveStream(std::unique_ptr<State> state);  // for Recognizer
  ~LiveStream();
  LiveStream(const LiveStream&) = delete;
  LiveStream& operator=(const LiveStream&) = delete;

  // Mono samples in [-1, 1] at options().sample_rate_hz. Takes as many as the stream has room for
  // and returns their number: the rest is for the caller to offer again (NotifyRoom). 0 when the
  // stream is over. A sample that is no number ends the stream with an error. Throws
  // std::invalid_argument after Finish.
  size_t AcceptSamples(const float* samples, size_t count);

  // Samples that AcceptSamples would take now.
  size_t Room() const;

  // Calls `on_room` once: as soon as at least half of the room is free or the stream is over, from
  // this thread if that is so now, otherwise from a worker's. A second call before that takes the
  // place of the first. Must not throw.
  void NotifyRoom(std::function<void()> on_room);

  // No more samples come: what is left is decoded, then comes the final update.
  void Finish();

  // Ends the stream: nothing more is decoded, no update comes. When it returns, no callback of the
  // stream runs (but for the one that calls it).
  void Cancel();

  // True when no update comes any more but those that Poll can take already.
  bool is_over() const;

  // Of a stream without a callback: takes what became known since the last Poll, as one update.
  // False when there is nothing new.
  bool Poll(LiveUpdate* update);

  // Waits until Poll has something or the stream is over, `timeout_ms` at most (infinity too; a
  // negative one or NaN does not wait). True when Poll has something.
  bool WaitForUpdate(double timeout_ms);

  // The stream with all samples accepted so far as bytes (Stream::Snapshot), for
  // Recognizer::Restore here or in another process. Throws std::invalid_argument when the stream is
  // cancelled.
  std::string Snapshot();

  // A second stream that continues from here on its own. Throws std::invalid_argument when the
  // stream is cancelled or the recognizer is gone.
  std::shared_ptr<LiveStream> Fork(UpdateCallback on_update = {});

  // Accepted since the start of the stream, before a Restore or Fork too, at its own rate.
  int64_t num_samples() const;
  const StreamOptions& options() const;  // defaults resolved

 private:
  friend class RecognizerCore;
  std::unique_ptr<State> state_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_STREAM_H_
