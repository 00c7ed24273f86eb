// Audio that has room in a stream, waits for it, or will never fit.
#include "tools/server/session/stream_feed.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/recognizer.h"
#include "tests/support/tiny_streams.h"

namespace runnel::server {
namespace {

constexpr int kRate = 16000;

class StreamFeedTest : public ::testing::Test {
 protected:
  StreamFeedTest() {
    RecognizerOptions options;
    options.max_buffered_s = 1;
    recognizer_ = std::make_unique<Recognizer>(testing::Tiny(), options);
  }

  StreamFeed Feed(int64_t chunk_size, InputBudget::Share budget = {}) {
    StreamOptions options;
    options.sample_rate_hz = kRate;
    options.chunk_size = chunk_size;
    return StreamFeed(recognizer_->Open(options), mailbox_, std::move(budget));
  }

  std::promise<void> woken_;
  std::shared_ptr<SessionMailbox> mailbox_ =
      std::make_shared<SessionMailbox>([this] { woken_.set_value(); });
  std::unique_ptr<Recognizer> recognizer_;
};

TEST_F(StreamFeedTest, SamplesThatFitAreNotHeld) {
  StreamFeed feed = Feed(/*chunk_size=*/4);
  EXPECT_TRUE(feed.Accept(std::vector<float>(kRate / 2)));
  EXPECT_FALSE(feed.is_holding());
  EXPECT_EQ(feed.stream()->num_samples(), kRate / 2);
}

TEST_F(StreamFeedTest, SamplesWaitForRoomAndAreNotLost) {
  StreamFeed feed = Feed(/*chunk_size=*/4);
  std::vector<float> samples(10 * kRate);
  ASSERT_TRUE(feed.Accept(samples));
  int num_waits = 0;
  for (; feed.is_holding(); ++num_waits) {
    woken_.get_future().wait();
    woken_ = std::promise<void>();
    mailbox_->Open();
    ASSERT_TRUE(mailbox_->TakeRoom());
    ASSERT_TRUE(feed.OnRoom());
  }
  EXPECT_GE(num_waits, 5);
  EXPECT_EQ(feed.stream()->num_samples(), 10 * kRate);
}

// Nothing is lost, and a stream always gets the samples of its next chunk.
TEST_F(StreamFeedTest, SamplesWaitForRoomInTheBudget) {
  constexpr size_t kBytes = 2000;  // of which the account may hold a quarter
  InputBudget budget(kBytes);
  StreamFeed feed = Feed(/*chunk_size=*/4, {&budget, "account"});
  constexpr size_t kPart = kRate / 10;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(feed.Accept(std::vector<float>(kPart)));
    while (feed.is_holding()) {
      EXPECT_TRUE(feed.is_over_budget());
      ASSERT_TRUE(feed.OnRoom());
    }
    EXPECT_FALSE(feed.is_over_budget());
    EXPECT_EQ(feed.stream()->num_samples(), (i + 1) * static_cast<int64_t>(kPart));
    ASSERT_TRUE(feed.OnRoom());
    // What is needed for a chunk, and one part more.
    EXPECT_LE(budget.num_bytes(), kRate * sizeof(float));
  }
}

TEST_F(StreamFeedTest, AnotherAccountHasItsOwnShareOfTheBudget) {
  InputBudget budget(400000);
  StreamFeed feed = Feed(/*chunk_size=*/16, {&budget, "account"});
  constexpr size_t kLittle = 1000;  // samples, too few for a chunk
  ASSERT_TRUE(feed.Accept(std::vector<float>(kLittle)));
  EXPECT_EQ(budget.num_bytes(), kLittle * sizeof(float));
  InputBudget::Share other(&budget, "other");
  EXPECT_TRUE(other.Resize(kLittle * sizeof(float)));
}

TEST_F(StreamFeedTest, AWholeUtteranceMustFit) {
  StreamFeed feed = Feed(StreamOptions::kWholeUtterance);
  EXPECT_TRUE(feed.Accept(std::vector<float>(kRate / 2)));
  EXPECT_FALSE(feed.Accept(std::vector<float>(kRate)));
}

TEST_F(StreamFeedTest, AStreamThatIsOverTakesNothingAndHoldsNothing) {
  StreamFeed feed = Feed(/*chunk_size=*/4);
  feed.stream()->Cancel();
  EXPECT_TRUE(feed.Accept(std::vector<float>(10 * kRate)));
  EXPECT_FALSE(feed.is_holding());
}

}  // namespace
}  // namespace runnel::server
