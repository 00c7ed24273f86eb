// The audio of a live stream that its decoder has not received yet, and how the stream ends.
#ifndef RUNNEL_RUNTIME_LIVE_WAITING_AUDIO_H_
#define RUNNEL_RUNTIME_LIVE_WAITING_AUDIO_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "runtime/live/arrival_log.h"
#include "runtime/live/sample_queue.h"

namespace runnel {

// A sequence of samples, with the points between them where utterances end and where the audio
// ends. The owner of the stream appends to it, a worker takes from its front. A value; a copy has
// the same audio. Not thread-safe.
//
// It holds at all times: the points ascend and lie among the samples that wait; when the stream is
// failing or over, nothing waits. An exception, std::bad_alloc only, leaves everything as it was.
class WaitingAudio {
 public:
  using Clock = ArrivalLog::Clock;

  // The samples that count against the capacity: those that wait, or, because the decoder keeps
  // them, all that were accepted.
  enum class Counted { kWaiting, kAccepted };

  // What the worker does next.
  enum class Step {
    kNothing,   // more samples must come first
    kSamples,   // decodes `samples`
    kFinalize,  // ends the utterance here
    kFinish,    // decodes `samples`, maybe none; then the audio ends
    kEnded      // leaves the stream alone
  };
  struct Next {
    Step step = Step::kNothing;
    std::vector<float> samples;
    Clock::time_point arrival{};  // of the last sample, or of the call that asked for the step
    int64_t num_calls = 0;        // of Finalize, with kFinalize
  };

  // Points where utterances end that may wait. Each costs a chunk, so no sample is accepted while
  // there are so many.
  static constexpr size_t kMostFinalizations = 4;

  // num_samples: that the decoder has already.
  WaitingAudio(size_t capacity, Counted counted, int64_t num_samples)
      : capacity_(capacity), counted_(counted), num_samples_(num_samples) {}

  // Takes min(count, Room()) samples and returns their number. Throws std::invalid_argument after
  // Finish. With Counted::kAccepted and no room left for them, the audio overflows.
  size_t Accept(const float* samples, size_t count, Clock::time_point now);
  // Ends the utterance after the last sample. No effect after Finish and when the stream has ended.
  void Finalize(Clock::time_point now);
  // Ends the audio after the last sample. Returns false, without effect, when it has ended.
  bool Finish(Clock::time_point now);

  // Takes what comes next. to_chunk, to_preview: the number of samples that the decoder needs
  // first. A full queue is taken as it is, so a stream never waits for samples without room.
  Next Take(size_t to_chunk, size_t to_preview);
  // Whether Take(wanted, wanted) has anything for a worker, or the audio overflows.
  bool IsDue(size_t wanted) const;

  // The decoder cannot go on; an update that says why is to come. Drops what waits, as the next two
  // do.
  void Fail();
  // The last update has come. Returns false, without effect, when the stream was over.
  bool Close();
  // Ends the stream at once. Returns false when it was over, which is cancelled then, too.
  bool Cancel();

  bool is_over() const { return life_ != Life::kOpen && life_ != Life::kFailing; }
  bool is_cancelled() const { return life_ == Life::kCancelled; }
  bool has_failed() const { return life_ == Life::kFailing || life_ == Life::kFailed; }
  bool is_finished() const { return is_finished_; }
  bool is_finalizing() const { return !finalizations_.empty(); }
  bool overflows() const { return overflows_; }

  size_t size() const { return samples_.size(); }
  size_t capacity() const { return capacity_; }
  size_t num_finalizations() const { return finalizations_.size(); }
  // Accepted since the start of the stream.
  int64_t num_samples() const { return num_samples_; }
  // The samples that Accept takes now.
  size_t Room() const;
  // Whether at least half of the capacity is free.
  bool HasMuchRoom() const;

 private:
  enum class Life { kOpen, kFailing, kFailed, kClosed, kCancelled };
  struct Finalization {
    int64_t end;  // samples before it
    Clock::time_point time;
    int64_t num_calls = 1;  // without samples in between
  };

  size_t NumCounted() const;
  bool IsFull() const { return counted_ == Counted::kWaiting && samples_.size() >= capacity_; }
  void Drop();

  size_t capacity_;
  Counted counted_;
  int64_t num_samples_;
  SampleQueue samples_;  // the last of num_samples_
  ArrivalLog arrivals_;  // counted as num_samples_ is
  std::deque<Finalization> finalizations_;
  bool is_finished_ = false;
  Clock::time_point finished_at_{};
  bool overflows_ = false;
  Life life_ = Life::kOpen;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_WAITING_AUDIO_H_
