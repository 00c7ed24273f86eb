// The audio of a live stream that its decoder has not received yet, and how the stream ends.
#ifndef RUNNEL_RUNTIME_LIVE_WAITING_AUDIO_H_
#define RUNNEL_RUNTIME_LIVE_WAITING_AUDIO_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace runnel {

// First in, first out; O(1) per sample. Holds two blocks more than the samples need at most, so
// that what waits costs what was accounted for it. A value.
class SampleQueue {
 public:
  size_t size() const { return size_; }

  // Without an effect when it throws.
  void Append(const float* samples, size_t count) {
    const size_t num_blocks = blocks_.size();
    try {
      while (blocks_.size() * kBlock - head_ - size_ < count) blocks_.emplace_back(kBlock);
    } catch (...) {
      blocks_.resize(num_blocks);
      throw;
    }
    ForEachPart(size_, count, [&samples](float* block, size_t part) {
      std::copy_n(samples, part, block);
      samples += part;
    });
    size_ += count;
  }

  // The next `count` samples, fewer if there are fewer.
  std::vector<float> Take(size_t count) {
    std::vector<float> taken(std::min(count, size_));
    float* end = taken.data();
    ForEachPart(0, taken.size(),
                [&end](const float* block, size_t part) { end = std::copy_n(block, part, end); });
    head_ += taken.size();
    size_ -= taken.size();
    while (head_ >= kBlock) {
      blocks_.pop_front();
      head_ -= kBlock;
    }
    if (size_ == 0) Clear();
    return taken;
  }

  void Clear() {
    blocks_.clear();
    head_ = size_ = 0;
  }

 private:
  static constexpr size_t kBlock = 4096;  // samples; small enough for the allocator to use again

  // Calls `visit` for the parts of the blocks that hold `count` samples from `begin` on.
  template <typename Visit>
  void ForEachPart(size_t begin, size_t count, Visit visit) {
    for (size_t at = head_ + begin, end = at + count; at < end;) {
      const size_t offset = at % kBlock, part = std::min(kBlock - offset, end - at);
      visit(blocks_[at / kBlock].data() + offset, part);
      at += part;
    }
  }

  std::deque<std::vector<float>> blocks_;  // of kBlock samples each
  size_t head_ = 0;                        // samples of the first block that are taken
  size_t size_ = 0;
};

// Samples are counted from any fixed point. Arrivals within a millisecond share one entry, with the
// time of the first, so that memory grows with time and not with the number of packets. Not
// thread-safe.
class ArrivalLog {
 public:
  using Clock = std::chrono::steady_clock;

  // `end`: the number of samples that have arrived by `time`. One that is not larger than before
  // replaces the one before: that of samples for which there was no memory.
  void Add(int64_t end, Clock::time_point time);

  // When the sample with this index arrived. It must have arrived and not be forgotten.
  Clock::time_point TimeOf(int64_t sample) const;

  // Forgets the samples with a lower index.
  void Forget(int64_t before);

 private:
  struct Arrival {
    int64_t end;
    Clock::time_point time;
  };
  std::deque<Arrival> arrivals_;
};

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
  // The samples that wait before the next point where an utterance ends, or before the end of the
  // audio. None while the audio goes on.
  std::optional<size_t> SamplesToEnd() const;
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
