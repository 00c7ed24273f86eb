// One live stream of a Recognizer: fed from any thread, read by a callback or by polling.
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

// Called from a worker thread: one call at a time for each stream, in order. It may call every
// method of the stream; Snapshot then includes this update. It should be short, because the worker
// waits for it. It must not throw: an exception ends the stream, and one more call says so
// (LiveUpdate::error). A stream whose callback holds a shared_ptr to it lives until it is over. Two
// callbacks that cancel each other's streams deadlock.
using UpdateCallback = std::function<void(LiveStream& stream, const LiveUpdate& update)>;

// Made by Recognizer::Open and Restore. Thread-safe: every method from any thread. A stream that
// outlives its recognizer is cancelled. A stream that its owner releases after Finish is decoded to
// its end. One that is released before is given up: no further chunk is begun. Unlike Cancel, the
// release does not wait for a worker that has the stream at that moment, whose update may still
// come. Call Cancel first when the callback uses objects that are destroyed then.
//
// No method waits for a computation, with two exceptions. Snapshot and Fork wait for the chunk of
// this stream that is being decoded, and decode themselves what a FinalizeUtterance still waits
// for. Cancel waits for a running callback of this stream.
class LiveStream : public std::enable_shared_from_this<LiveStream> {
 public:
  struct State;

  explicit LiveStream(std::unique_ptr<State> state);  // internal: use Recognizer
  ~LiveStream();
  LiveStream(const LiveStream&) = delete;
  LiveStream& operator=(const LiveStream&) = delete;

  // Mono samples in [-1, 1] at options().sample_rate_hz. Takes as many as the stream has room for
  // and returns their number; the caller offers the rest again (NotifyRoom). Returns 0 when the
  // stream is over, and while several calls of FinalizeUtterance wait. A sample that
  // Stream::AcceptSamples refuses ends the stream with an error. Throws std::invalid_argument after
  // Finish.
  size_t AcceptSamples(const float* samples, size_t count);

  // The number of samples that AcceptSamples would take now.
  size_t Room() const;

  // The samples that were accepted and wait to be decoded.
  size_t num_waiting() const;

  // Whether a worker decodes the stream, or will without further samples.
  bool is_busy() const;

  // Calls `on_room` once, when at least half of the room is free, the stream waits for samples, or
  // it is over: at once from this thread if that is so now, else later from a worker. A stream that
  // waits for samples has room for some. With kWholeUtterance and no room left, AcceptSamples then
  // ends it with an error. A second call before then replaces the first callback. `on_room` must
  // not throw: an exception in a worker ends the stream with an error.
  void NotifyRoom(std::function<void()> on_room);

  // Ends the utterance after the samples accepted so far (Stream::FinalizeUtterance). The update
  // that brings it comes as soon as they are decoded, and the stream goes on. Without a new encoder
  // frame no utterance ends, and the update says so (LiveUpdate::num_empty_finalizations). Does
  // nothing after Finish.
  void FinalizeUtterance();

  // Whether a FinalizeUtterance waits, which Snapshot and Fork would decode themselves.
  bool is_finalizing() const;

  // Ends the audio: the rest is decoded, then comes the final update.
  void Finish();

  // Ends the stream: nothing more is decoded and no update comes. When Cancel returns, no callback
  // of the stream runs, except one that called Cancel itself.
  void Cancel();

  // True when no update comes any more, except those that Poll can take already.
  bool is_over() const;

  // For a stream without a callback: takes all updates since the last Poll, merged into one.
  // Returns false when there are none.
  bool Poll(LiveUpdate* update);

  // Waits until Poll has an update or the stream is over, for `timeout_ms` at most. Infinity is
  // allowed; a negative value or NaN does not wait. Returns true when Poll has an update.
  bool WaitForUpdate(double timeout_ms);

  // The stream with all samples accepted so far as bytes (Stream::Snapshot), for
  // Recognizer::Restore in this or another process. `first_utterance`, unless null, receives the
  // index of the first utterance that the restored stream will bring. Those before it were brought
  // by updates of this stream, of which the last may not have reached the callback yet. Throws
  // std::invalid_argument when the stream is cancelled or ends with an error.
  std::string Snapshot(int64_t* first_utterance = nullptr);

  // A second stream of the same account that continues from this point independently. Throws
  // std::invalid_argument when the stream is cancelled or ends with an error, and when the
  // recognizer is gone.
  std::shared_ptr<LiveStream> Fork(UpdateCallback on_update = {});

  // Samples accepted since the start of the stream, at its own rate, including those before a
  // Restore or a Fork.
  int64_t num_samples() const;
  const StreamOptions& options() const;  // defaults resolved

 private:
  friend class BatchEntry;  // a worker's access to the state
  std::unique_ptr<State> state_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_STREAM_H_
