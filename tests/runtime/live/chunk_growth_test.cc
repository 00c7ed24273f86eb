// The policy by which chunks grow, with a clock of the test.
#include "runtime/live/chunk_growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace runnel {
namespace {

using Clock = ChunkGrowth::Clock;
using std::chrono::milliseconds;

// A load in steps of 100 ms: `busy` is the share of the workers' time, `lag` that of each chunk.
class Load {
 public:
  explicit Load(int max_factor, int num_threads = 1)
      : num_threads_(num_threads), growth_(max_factor, num_threads, now_) {}

  // The factors after each step.
  std::vector<int> Run(double seconds, double busy, double lag, double audio_s = 1) {
    std::vector<int> factors;
    for (int i = 0; i < static_cast<int>(seconds * 10 + 0.5); ++i) {
      now_ += milliseconds(100);
      growth_.Add({0.1 * busy * num_threads_, 0.1 * audio_s, 4, 4 * lag}, now_);
      factors.push_back(growth_.Factor(now_));
    }
    return factors;
  }

  int Wait(double seconds) {
    now_ += milliseconds(static_cast<int64_t>(1000 * seconds));
    return growth_.Factor(now_);
  }

 private:
  const int num_threads_;
  Clock::time_point now_{};
  ChunkGrowth growth_;
};

TEST(ChunkGrowthTest, DoublesAfterASecondOfLoadAndThenSettles) {
  Load load(4);
  const std::vector<int> factors = load.Run(12, 1, 0.5);
  for (size_t i = 0; i < factors.size(); ++i) {
    // A window of 1 s, a pause of 3 s, a window of 1 s.
    EXPECT_EQ(factors[i], i < 9 ? 1 : i < 49 ? 2 : 4) << i;
  }
}

TEST(ChunkGrowthTest, KnowsItsLargestFactor) {
  EXPECT_EQ(Load(1).Run(60, 1, 1).back(), 1);
  EXPECT_EQ(Load(2).Run(60, 1, 1).back(), 2);
  EXPECT_EQ(Load(4).Run(60, 1, 1).back(), 4);
}

TEST(ChunkGrowthTest, NeedsBusyWorkersAndLateChunks) {
  EXPECT_EQ(Load(4).Run(60, 1, ChunkGrowth::kLag - 0.01).back(),
            1);  // one client sends a recording
  EXPECT_EQ(Load(4).Run(60, ChunkGrowth::kBusy - 0.01, 1).back(), 1);  // all clients at one moment
  EXPECT_EQ(Load(4).Run(60, ChunkGrowth::kBusy + 0.01, ChunkGrowth::kLag + 0.01).back(), 4);
}

TEST(ChunkGrowthTest, CountsTheTimeOfAllWorkers) {
  Load load(2, 4);
  EXPECT_EQ(load.Run(1, 1, 1).back(), 2);
  EXPECT_EQ(load.Run(10, 0.9, 1).back(), 2);
  EXPECT_EQ(load.Run(2, 0.1, 1).back(), 1);
}

// Chunks of twice the size save a fifth: 1.0 of the time for 1 s of audio becomes 0.8.
TEST(ChunkGrowthTest, HalvesWhenSmallerChunksWouldNotKeepTheWorkersBusy) {
  Load load(2);
  ASSERT_EQ(load.Run(1, 1.0, 0.5).back(), 2);
  load.Run(3, 1.0, 0.5);
  EXPECT_EQ(load.Run(20, 0.8, 0).back(), 2);
  // 0.9 s of audio would take 0.9 with smaller chunks, 0.72 with these; and so on.
  EXPECT_EQ(load.Run(20, 0.72, 0, 0.9).back(), 2);
  EXPECT_EQ(load.Run(20, 0.58, 0, 0.725).back(), 2);
  EXPECT_EQ(load.Run(2, 0.54, 0, 0.675).back(), 1);
  EXPECT_EQ(load.Run(20, 0.675, 0, 0.675).back(), 1);  // and it stays there
}

TEST(ChunkGrowthTest, ASteadyLoadDoesNotSwing) {
  for (const double saving : {1.0, 1.2, 1.5, 2.0}) {
    for (const double demand : {0.5, 0.7, 0.79, 0.9, 1.0, 1.3, 1.6, 2.5, 5.0}) {
      Load load(4);
      int factor = 1;
      int num_changes = 0;
      for (int second = 0; second < 300; ++second) {
        double busy = demand;
        for (int f = 1; f < factor; f *= 2) busy /= saving;
        const double share = std::min(1.0, 1 / busy);  // of the audio that is decoded in time
        const int now = load.Run(1, busy * share, busy > 0.85 ? busy : 0.1, demand * share).back();
        num_changes += now == factor ? 0 : 1;
        factor = now;
      }
      EXPECT_LE(num_changes, 2) << saving << ' ' << demand;
      EXPECT_EQ(factor == 1, demand <= 0.85) << saving << ' ' << demand;
    }
  }
}

TEST(ChunkGrowthTest, AfterAPauseChunksAreSmall) {
  Load load(4);
  ASSERT_EQ(load.Run(5, 1, 1).back(), 4);
  EXPECT_EQ(load.Wait(2), 4);  // settling
  EXPECT_EQ(load.Wait(60), 1);
}

}  // namespace
}  // namespace runnel
