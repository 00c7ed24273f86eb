// Live streams of several accounts share the workers. The test is the worker and the clock: it
// decides how long chunks take, so that all is deterministic.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/live/step_cost.h"
#include "runtime/recognizer.h"
#include "tests/support/live_client.h"
#include "tests/support/manual_worker.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using std::chrono::milliseconds;
using testing::ManualWorker;
using testing::NoiseOfChangingLevel;
using testing::Options;

// Streams whose audio never ends.
class Shares {
 public:
  struct Used {
    milliseconds time{0};
    milliseconds longest_wait{0};  // of a chunk, from one update of its stream to the next
    int64_t num_updates = 0;
  };

  // Each of its steps takes `cost`.
  void Open(const std::string& account, const StreamOptions& options, milliseconds cost) {
    const auto last = std::make_shared<ManualWorker::Clock::time_point>(worker_.now());
    streams_.emplace_back(
        account, worker_.Open(
                     options,
                     [this, account, cost, last](LiveStream&, const LiveUpdate&) {
                       worker_.Advance(cost);
                       Used& used = used_[account];
                       used.time += cost;
                       ++used.num_updates;
                       used.longest_wait = std::max(
                           used.longest_wait,
                           std::chrono::duration_cast<milliseconds>(worker_.now() - *last));
                       *last = worker_.now();
                       order_.push_back(account);
                     },
                     account));
  }

  // `flushes`: an account whose streams end an utterance with each packet.
  void Run(milliseconds duration, const std::string& flushes = "nobody") {
    const auto end = worker_.now() + duration;
    while (worker_.now() < end) {
      for (const auto& [account, stream] : streams_) {
        stream->AcceptSamples(samples_.data(), samples_.size());
        if (account == flushes) stream->FinalizeUtterance();
      }
      const size_t num_before = order_.size();
      ASSERT_TRUE(worker_.TakeBatch());
      most_in_batch_ = std::max(most_in_batch_, order_.size() - num_before);
    }
  }

  std::map<std::string, Used> used_;
  std::vector<std::string> order_;
  size_t most_in_batch_ = 0;

 private:
  static RecognizerOptions WithoutWaiting() {
    RecognizerOptions options = testing::Workers(1, 16, 30);
    options.max_batch_wait_ms = 0;
    return options;
  }

  ManualWorker worker_{WithoutWaiting()};
  const std::vector<float> samples_ = NoiseOfChangingLevel(16000, 1);
  std::vector<std::pair<std::string, std::shared_ptr<LiveStream>>> streams_;  // with their accounts
};

TEST(SharesTest, AccountsGetEqualTimesHoweverManyStreamsTheyHave) {
  Shares shares;
  for (int i = 0; i < 20; ++i) shares.Open("many", Options(16, 64), milliseconds(30));
  shares.Open("one", Options(4, 8), milliseconds(10));
  shares.Run(milliseconds(10000));
  const milliseconds many = shares.used_["many"].time;
  const milliseconds one = shares.used_["one"].time;
  // A batch has one chunk of a stream, so the one stream cannot take more.
  EXPECT_GT(one.count(), 900);
  EXPECT_LT(shares.used_["one"].longest_wait.count(), 250);
  EXPECT_GT(many, one);
}

TEST(SharesTest, AChunkNeverWaitsForManyCostlyOnes) {
  Shares shares;
  StreamOptions costly = Options(16, 64, SearchMethod::kPrefixBeam);
  costly.early_text.interval = 4;
  for (int i = 0; i < 50; ++i) shares.Open("costly", costly, milliseconds(60));
  for (int i = 0; i < 3; ++i) shares.Open("honest", Options(4, 8), milliseconds(4));
  shares.Run(milliseconds(1000));  // learns what chunks cost
  shares.used_.clear();
  shares.Run(milliseconds(20000));
  EXPECT_LT(shares.used_["honest"].longest_wait.count(), 250);
  EXPECT_GT(shares.used_["costly"].time.count(), 10000);
}

// Its ends come before the chunks of others, and cost it its share.
TEST(SharesTest, AChunkNeverWaitsForManyEnds) {
  Shares shares;
  for (int i = 0; i < 50; ++i) shares.Open("flushing", Options(4, 8), milliseconds(10));
  for (int i = 0; i < 3; ++i) shares.Open("honest", Options(4, 8), milliseconds(4));
  shares.Run(milliseconds(1000), "flushing");  // learns what steps cost
  shares.used_.clear();
  shares.Run(milliseconds(20000), "flushing");
  EXPECT_LT(shares.used_["honest"].longest_wait.count(), 400);
  EXPECT_GT(shares.used_["flushing"].time.count(), 10000);
}

// As a recognizer has always done: all streams take turns.
TEST(SharesTest, OneAccountIsFirstInFirstOut) {
  Shares shares;
  for (int i = 0; i < 20; ++i) shares.Open("", Options(4, 8), milliseconds(30));
  shares.Run(milliseconds(6000));
  EXPECT_EQ(shares.most_in_batch_, 16U);  // whatever it takes
  EXPECT_LE(shares.used_[""].longest_wait.count(), 20 * 30 * 2);
}

TEST(ComputeRateTest, LearnsFromBatches) {
  ComputeRate rate;
  EXPECT_GT(rate.SecondsFor(1), 0);
  rate.Add(2, 10);
  EXPECT_NEAR(rate.SecondsFor(5), 1, 1e-3);
  for (int i = 0; i < 100; ++i) rate.Add(1, 10);
  EXPECT_NEAR(rate.SecondsFor(5), 0.5, 1e-3);
  rate.Add(0, 10);
  rate.Add(1, 0);
  EXPECT_NEAR(rate.SecondsFor(5), 0.5, 1e-3);
}

TEST(ComputeRateTest, CostlyOptionsMakeLargerSteps) {
  const double plain = StepSize(16, Options(16, 16));
  EXPECT_GT(StepSize(17, Options(16, 16)), plain);
  EXPECT_GT(StepSize(16, Options(16, 512)), plain);
  EXPECT_GT(StepSize(16, Options(16, 16, SearchMethod::kPrefixBeam)), plain);
  EXPECT_GT(StepSize(0, Options(16, 16)), 0);
  StreamOptions window = Options(16, 128);
  window.right_context = 16;
  StreamOptions cached = window;
  cached.cached_windows = true;
  EXPECT_GT(StepSize(16, window), 3 * StepSize(16, cached));
  EXPECT_GT(StepSize(16, cached), StepSize(16, Options(16, 128)));
  EXPECT_GT(StepSize(1000, Options(-1, -1)), StepSize(1000, Options(-1, 0)));
}

}  // namespace
}  // namespace runnel
