#include "runtime/live/waiting_audio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/random_steps.h"

namespace runnel {
namespace {

using Clock = WaitingAudio::Clock;
using Counted = WaitingAudio::Counted;
using Step = WaitingAudio::Step;

constexpr size_t kAny = std::numeric_limits<size_t>::max();
const Clock::time_point kStart{};

// Samples whose values are their indices.
std::vector<float> Numbered(int64_t first, size_t count) {
  std::vector<float> samples(count);
  std::iota(samples.begin(), samples.end(), static_cast<float>(first));
  return samples;
}

WaitingAudio With(size_t count, size_t capacity = 100, Counted counted = Counted::kWaiting) {
  WaitingAudio audio(capacity, counted, 0);
  EXPECT_EQ(audio.Accept(Numbered(0, count).data(), count, kStart), count);
  return audio;
}

TEST(WaitingAudioTest, ChunksPreviewsAndTheEnd) {
  WaitingAudio audio = With(10);
  EXPECT_FALSE(audio.IsDue(11));
  EXPECT_EQ(audio.Take(11, 11).step, Step::kNothing);
  EXPECT_EQ(audio.Take(4, 2).samples, Numbered(0, 4));
  EXPECT_EQ(audio.Take(7, 5).samples, Numbered(4, 6)) << "a preview covers what is there";
  EXPECT_TRUE(audio.Finish(kStart));
  EXPECT_FALSE(audio.Finish(kStart));
  EXPECT_EQ(audio.Take(7, 7).step, Step::kFinish);
  EXPECT_THROW(audio.Accept(Numbered(10, 1).data(), 1, kStart), std::invalid_argument);
}

TEST(WaitingAudioTest, UtterancesEndBetweenSamples) {
  WaitingAudio audio = With(5);
  audio.Finalize(kStart);
  audio.Finalize(kStart);
  audio.Accept(Numbered(5, 3).data(), 3, kStart);
  audio.Finish(kStart);
  EXPECT_EQ(audio.Take(kAny, kAny).samples, Numbered(0, 5));
  const WaitingAudio::Next point = audio.Take(kAny, kAny);
  EXPECT_EQ(point.step, Step::kFinalize);
  EXPECT_EQ(point.num_calls, 2);
  const WaitingAudio::Next rest = audio.Take(kAny, kAny);
  EXPECT_EQ(rest.step, Step::kFinish);
  EXPECT_EQ(rest.samples, Numbered(5, 3));
}

TEST(WaitingAudioTest, NothingIsLeftOfAStreamThatEnds) {
  for (const auto end : {+[](WaitingAudio* a) { a->Fail(); }, +[](WaitingAudio* a) { a->Close(); },
                         +[](WaitingAudio* a) { a->Cancel(); }}) {
    WaitingAudio audio = With(5);
    audio.Finalize(kStart);
    audio.Accept(Numbered(5, 3).data(), 3, kStart);
    end(&audio);
    EXPECT_FALSE(audio.is_finalizing());
    EXPECT_EQ(audio.size(), 0U);
    EXPECT_EQ(audio.Room(), 0U);
    EXPECT_FALSE(audio.IsDue(0));
    EXPECT_EQ(audio.Take(1, 1).step, Step::kEnded);
    EXPECT_EQ(audio.Accept(Numbered(8, 1).data(), 1, kStart), 0U);
    EXPECT_EQ(audio.num_samples(), 8);
  }
}

TEST(WaitingAudioTest, AStreamThatFailsIsOverWithItsLastUpdate) {
  WaitingAudio audio = With(5);
  audio.Fail();
  EXPECT_TRUE(audio.has_failed());
  EXPECT_FALSE(audio.is_over());
  EXPECT_TRUE(audio.Close());
  EXPECT_TRUE(audio.has_failed());
  EXPECT_TRUE(audio.is_over());
  EXPECT_FALSE(audio.Close());
  EXPECT_FALSE(audio.Cancel());
  EXPECT_TRUE(audio.is_cancelled());
}

TEST(WaitingAudioTest, AFullQueueIsTakenAlthoughTheChunkIsLonger) {
  WaitingAudio audio = With(99);
  EXPECT_FALSE(audio.IsDue(150));
  EXPECT_EQ(audio.Room(), 1U);
  EXPECT_EQ(audio.Accept(Numbered(99, 9).data(), 9, kStart), 1U);
  EXPECT_TRUE(audio.IsDue(150));
  EXPECT_EQ(audio.Take(150, 150).samples.size(), 100U);
  EXPECT_EQ(audio.Room(), 100U);
}

TEST(WaitingAudioTest, WholeUtterancesOverflow) {
  WaitingAudio audio = With(100, 100, Counted::kAccepted);
  EXPECT_FALSE(audio.overflows());
  EXPECT_FALSE(audio.IsDue(kAny));
  EXPECT_EQ(audio.Accept(Numbered(100, 1).data(), 1, kStart), 0U);
  EXPECT_TRUE(audio.overflows());
  EXPECT_TRUE(audio.IsDue(kAny));
}

// Longer than the blocks in which samples are kept.
TEST(WaitingAudioTest, LongAudioStaysInOrder) {
  std::mt19937_64 random(testing::RandomSeed(1));
  WaitingAudio audio(30000, Counted::kWaiting, 0);
  int64_t accepted = 0, taken = 0;
  for (int i = 0; i < 2000; ++i) {
    if (random() % 8 == 0) audio = WaitingAudio(audio);
    const std::vector<float> samples = Numbered(accepted, random() % 12000);
    accepted += static_cast<int64_t>(audio.Accept(samples.data(), samples.size(), kStart));
    const size_t wanted = random() % 4 == 0 ? audio.size() : random() % 9000;
    const std::vector<float> next = audio.Take(wanted, kAny).samples;
    ASSERT_EQ(next, Numbered(taken, next.size()));
    taken += static_cast<int64_t>(next.size());
    if (accepted > (1 << 23)) {  // floats count no further than twice that
      audio = WaitingAudio(30000, Counted::kWaiting, 0);
      accepted = taken = 0;
    }
    ASSERT_EQ(audio.size(), static_cast<size_t>(accepted - taken));
  }
}

// Any order of calls, against a model that stores every sample, point and time.
class Walk {
 public:
  explicit Walk(uint64_t seed)
      : random_(seed),
        capacity_(1 + random_() % 40),
        counted_(random_() % 4 == 0 ? Counted::kAccepted : Counted::kWaiting),
        first_(static_cast<int64_t>(random_() % 1000)),
        audio_(capacity_, counted_, first_),
        accepted_(first_),
        taken_(first_) {}

  bool is_over() const { return audio_.is_over(); }

  void Go() {
    now_ += std::chrono::milliseconds(2);  // more than the resolution of the log
    switch (random_() % 16) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        Accept();
        break;
      case 5:
        Finalize();
        break;
      case 6:
        audio_ = WaitingAudio(audio_);
        break;
      case 7:
        CheckCopy();
        break;
      case 8:
        End();
        break;
      default:
        Take(&audio_, random_() % 30, random_() % 30);
    }
    Check();
  }

 private:
  struct Point {
    int64_t at;
    Clock::time_point time;
    int64_t num_calls;
  };

  void Accept() {
    const size_t count = random_() % 20;
    const std::vector<float> samples = Numbered(accepted_, count);
    if (is_finished_ && !has_ended_ && !audio_.overflows()) {
      EXPECT_THROW(audio_.Accept(samples.data(), count, now_), std::invalid_argument);
      return;
    }
    const size_t room = audio_.Room();
    const size_t taken = audio_.Accept(samples.data(), count, now_);
    EXPECT_EQ(taken, std::min(count, room));
    accepted_ += static_cast<int64_t>(taken);
    times_.insert(times_.end(), taken, now_);
  }

  void Finalize() {
    audio_.Finalize(now_);
    if (has_ended_ || is_finished_) return;
    if (!points_.empty() && points_.back().at == accepted_) {
      ++points_.back().num_calls;
    } else {
      points_.push_back({accepted_, now_, 1});
    }
  }

  void Take(WaitingAudio* audio, size_t to_chunk, size_t to_preview) {
    const WaitingAudio::Next next = audio->Take(to_chunk, to_preview);
    if (has_ended_) {
      EXPECT_EQ(next.step, Step::kEnded);
      return;
    }
    EXPECT_EQ(next.samples, Numbered(taken_, next.samples.size()));
    taken_ += static_cast<int64_t>(next.samples.size());
    EXPECT_LE(taken_, points_.empty() ? accepted_ : points_.front().at);
    if (next.step == Step::kSamples) {
      EXPECT_EQ(next.arrival, times_.at(static_cast<size_t>(taken_ - first_ - 1)));
    } else if (next.step == Step::kFinalize) {
      ASSERT_FALSE(points_.empty());
      EXPECT_EQ(points_.front().at, taken_);
      EXPECT_EQ(points_.front().time, next.arrival);
      EXPECT_EQ(points_.front().num_calls, next.num_calls);
      points_.pop_front();
    } else if (next.step == Step::kFinish) {
      EXPECT_TRUE(is_finished_ && points_.empty() && taken_ == accepted_);
    } else {
      EXPECT_TRUE(next.samples.empty());
    }
  }

  // A snapshot has everything.
  void CheckCopy() {
    WaitingAudio copy = audio_;
    Walk rest(*this);
    if (has_ended_) return;
    for (int i = 0; i < 20; ++i) rest.Take(&copy, kAny, 0);
    EXPECT_EQ(rest.taken_, accepted_);
    EXPECT_TRUE(rest.points_.empty());
  }

  void End() {
    switch (random_() % 8) {
      case 0:
        EXPECT_EQ(audio_.Cancel(), !is_over_);
        has_ended_ = is_over_ = true;
        break;
      case 1:
        audio_.Fail();
        has_ended_ = true;
        break;
      case 2:
        EXPECT_EQ(audio_.Close(), !is_over_);
        has_ended_ = is_over_ = true;
        break;
      default:
        EXPECT_EQ(audio_.Finish(now_), !has_ended_ && !is_finished_);
        is_finished_ = is_finished_ || !has_ended_;
    }
  }

  void Check() {
    EXPECT_EQ(audio_.is_over(), is_over_);
    EXPECT_EQ(audio_.num_samples(), accepted_);
    EXPECT_EQ(audio_.size(), has_ended_ ? 0 : static_cast<size_t>(accepted_ - taken_));
    EXPECT_EQ(audio_.num_finalizations(), has_ended_ ? 0 : points_.size());
    EXPECT_LE(audio_.num_finalizations(), WaitingAudio::kMostFinalizations);
    EXPECT_LE(audio_.size() + audio_.Room(), capacity_);
    const size_t wanted = random_() % 60;
    WaitingAudio copy = audio_;
    const Step step = copy.Take(wanted, wanted).step;
    const bool has_work = step != Step::kNothing && step != Step::kEnded;
    const bool overflows = audio_.overflows() && !has_ended_;
    EXPECT_EQ(audio_.IsDue(wanted), has_work || wanted == 0 ? !has_ended_ : overflows);
    // A stream that waits for samples has room for some.
    if (!has_ended_ && !audio_.IsDue(wanted) && counted_ == Counted::kWaiting) {
      EXPECT_GT(audio_.Room(), 0U);
    }
  }

  std::mt19937_64 random_;
  const size_t capacity_;
  const Counted counted_;
  const int64_t first_;
  WaitingAudio audio_;
  Clock::time_point now_ = kStart;
  int64_t accepted_;
  int64_t taken_;
  std::vector<Clock::time_point> times_;  // of the samples accepted
  std::deque<Point> points_;
  bool is_finished_ = false;
  bool has_ended_ = false;  // or is failing
  bool is_over_ = false;
};

TEST(WaitingAudioTest, AnyOrderOfCalls) {
  std::mt19937_64 seeds(testing::RandomSeed(1));
  int64_t left = testing::RandomSteps(200000);
  while (left > 0) {
    const uint64_t seed = seeds();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Walk walk(seed);
    for (int i = 0; i < 200 && left > 0; ++i, --left) walk.Go();
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace runnel
