#include "runtime/live/waiting_audio.h"

#include <algorithm>
#include <stdexcept>

namespace runnel {
namespace {

constexpr std::chrono::milliseconds kResolution(1);

}  // namespace

void ArrivalLog::Add(int64_t end, Clock::time_point time) {
  if (!arrivals_.empty() &&
      (end <= arrivals_.back().end || time - arrivals_.back().time < kResolution)) {
    arrivals_.back().end = end;
  } else {
    arrivals_.push_back({end, time});
  }
}

ArrivalLog::Clock::time_point ArrivalLog::TimeOf(int64_t sample) const {
  const auto found =
      std::upper_bound(arrivals_.begin(), arrivals_.end(), sample,
                       [](int64_t index, const Arrival& arrival) { return index < arrival.end; });
  if (found == arrivals_.end()) throw std::logic_error("a sample that has not arrived");
  return found->time;
}

void ArrivalLog::Forget(int64_t before) {
  while (!arrivals_.empty() && arrivals_.front().end <= before) arrivals_.pop_front();
}

size_t WaitingAudio::Accept(const float* samples, size_t count, Clock::time_point now) {
  if (life_ != Life::kOpen || overflows_) return 0;
  if (is_finished_) throw std::invalid_argument("samples after Finish, expected none");
  const size_t taken = std::min(count, Room());
  if (taken > 0) {
    const int64_t end = num_samples_ + static_cast<int64_t>(taken);
    arrivals_.Add(end, now);
    samples_.Append(samples, taken);
    num_samples_ = end;
  }
  // The decoder gives nothing back before Finish, so there will never be room again.
  overflows_ = counted_ == Counted::kAccepted && taken < count && NumCounted() >= capacity_;
  return taken;
}

void WaitingAudio::Finalize(Clock::time_point now) {
  if (life_ != Life::kOpen || is_finished_) return;
  if (!finalizations_.empty() && finalizations_.back().end == num_samples_) {
    ++finalizations_.back().num_calls;
  } else {
    finalizations_.push_back({num_samples_, now});
  }
}

bool WaitingAudio::Finish(Clock::time_point now) {
  if (life_ != Life::kOpen || is_finished_) return false;
  is_finished_ = true;
  finished_at_ = now;
  return true;
}

WaitingAudio::Next WaitingAudio::Take(size_t to_chunk, size_t to_preview) {
  Next next;
  if (life_ != Life::kOpen) {
    next.step = Step::kEnded;
    return next;
  }
  const int64_t begin = num_samples_ - static_cast<int64_t>(samples_.size());
  const bool finalizes = is_finalizing();
  const size_t present = SamplesToEnd().value_or(samples_.size());
  if (finalizes && present == 0) {
    next.step = Step::kFinalize;
    next.arrival = finalizations_.front().time;
    next.num_calls = finalizations_.front().num_calls;
    finalizations_.pop_front();
    return next;
  }
  const bool is_for_chunk = to_chunk <= present || finalizes || is_finished_ || IsFull();
  // A preview covers everything that is there.
  const size_t count = is_for_chunk            ? std::min(to_chunk, present)
                       : to_preview <= present ? present
                                               : 0;
  if (count > 0) {
    const int64_t end = begin + static_cast<int64_t>(count);
    next.arrival = arrivals_.TimeOf(end - 1);
    next.samples = samples_.Take(count);
    next.step = Step::kSamples;
    arrivals_.Forget(end);
  }
  if (is_finished_ && !finalizes && samples_.size() == 0) {
    next.arrival = finished_at_;
    next.step = Step::kFinish;
  }
  return next;
}

bool WaitingAudio::IsDue(size_t wanted) const {
  return life_ == Life::kOpen &&
         (samples_.size() >= wanted || is_finished_ || is_finalizing() || overflows_ || IsFull());
}

std::optional<size_t> WaitingAudio::SamplesToEnd() const {
  if (life_ != Life::kOpen) return std::nullopt;
  if (is_finalizing()) {
    return samples_.size() - static_cast<size_t>(num_samples_ - finalizations_.front().end);
  }
  if (is_finished_) return samples_.size();
  return std::nullopt;
}

void WaitingAudio::Fail() {
  if (life_ == Life::kOpen) life_ = Life::kFailing;
  Drop();
}

bool WaitingAudio::Close() {
  if (is_over()) return false;
  life_ = has_failed() ? Life::kFailed : Life::kClosed;
  Drop();
  return true;
}

bool WaitingAudio::Cancel() {
  const bool was_over = is_over();
  life_ = Life::kCancelled;
  Drop();
  return !was_over;
}

size_t WaitingAudio::Room() const {
  if (life_ != Life::kOpen || overflows_ || finalizations_.size() >= kMostFinalizations) return 0;
  return capacity_ - std::min(capacity_, NumCounted());
}

bool WaitingAudio::HasMuchRoom() const {
  return NumCounted() <= capacity_ / 2 && finalizations_.size() < kMostFinalizations;
}

size_t WaitingAudio::NumCounted() const {
  return counted_ == Counted::kAccepted ? static_cast<size_t>(num_samples_) : samples_.size();
}

void WaitingAudio::Drop() {
  samples_.Clear();
  arrivals_.Forget(num_samples_);
  finalizations_.clear();
}

}  // namespace runnel
