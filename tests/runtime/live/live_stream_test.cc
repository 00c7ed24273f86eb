// The life of a live stream: room, cancelling, failing, ownership.
#include "runtime/live_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <future>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/support/live_client.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::DecodeAtOnce;
using testing::ErrorMessage;
using testing::ExpectSame;
using testing::Follower;
using testing::kBatchScoreTolerance;
using testing::kPatience;
using testing::kWhole;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Send;
using testing::Tiny;
using testing::Workers;

TEST(LiveStreamTest, TakesNoMoreThanItHasRoomFor) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 0.5));
  // The worker is busy with a callback meanwhile.
  std::promise<void> called;
  std::promise<void> go_on;
  const auto other = recognizer.Open(Options(1, 0), [&](LiveStream& stream, const LiveUpdate&) {
    called.set_value();
    go_on.get_future().wait();
    stream.Cancel();
  });
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 5);
  other->AcceptSamples(samples.data(), 4000);
  called.get_future().wait();
  Follower follower;
  const auto stream = recognizer.Open(Options(4, 8), follower.Callback());
  EXPECT_EQ(stream->Room(), 8000U);
  EXPECT_EQ(stream->AcceptSamples(samples.data(), samples.size()), 8000U);
  EXPECT_EQ(stream->Room(), 0U);
  EXPECT_EQ(stream->AcceptSamples(samples.data(), 1), 0U);
  const auto finished = recognizer.Open(Options(4, 8));
  finished->Finish();
  EXPECT_THROW(finished->AcceptSamples(samples.data(), 1), std::invalid_argument);
  std::promise<void> room;
  stream->NotifyRoom([&room] { room.set_value(); });
  go_on.set_value();
  ASSERT_EQ(room.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_GE(stream->Room(), 4000U);
  std::mt19937_64 random(3);
  Send(stream.get(), {samples.begin() + 8000, samples.end()}, 3000, &random);
  stream->Finish();
  ExpectSame(follower.Final().utterances.back().nbest, DecodeAtOnce(samples, Options(4, 8)),
             kBatchScoreTolerance);
}

TEST(LiveStreamTest, ACallbackMaySnapshotAndForkAnyStream) {
  for (const int64_t chunk_size : {int64_t{4}, int64_t{100}, kWhole}) {
    Recognizer recognizer(Tiny(), Workers(1, 4, 30));
    const std::vector<float> samples = NoiseOfChangingLevel(20000, 21);
    // The worker is busy with a callback until all are queued, so that they are one batch.
    std::promise<void> go_on;
    const auto busy = recognizer.Open(
        Options(1, 0), [called = false, &go_on](LiveStream&, const LiveUpdate&) mutable {
          if (!std::exchange(called, true)) go_on.get_future().wait();
        });
    busy->AcceptSamples(samples.data(), 4000);
    std::vector<std::shared_ptr<LiveStream>> streams;
    std::atomic<int> num_snapshots{0};
    std::promise<void> over;
    const auto take_all = [&](LiveStream&, const LiveUpdate& update) {
      for (const auto& stream : streams) {
        if (stream->Snapshot().empty() || stream->Fork() == nullptr) return;
      }
      if (update.is_final && ++num_snapshots == 3) over.set_value();
    };
    for (const int64_t size : {chunk_size, chunk_size, int64_t{4}}) {
      streams.push_back(recognizer.Open(Options(size, 8), take_all));
    }
    for (const auto& stream : streams) {
      EXPECT_EQ(stream->AcceptSamples(samples.data(), samples.size()), samples.size());
      stream->Finish();
    }
    go_on.set_value();
    ASSERT_EQ(over.get_future().wait_for(kPatience), std::future_status::ready);
    for (const auto& stream : streams) stream->Cancel();  // no callback runs any more
  }
}

TEST(LiveStreamTest, WaitForUpdateTakesAnyTime) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  const auto stream = recognizer.Open(Options(4, 8));
  EXPECT_FALSE(stream->WaitForUpdate(0));
  EXPECT_FALSE(stream->WaitForUpdate(-1));
  EXPECT_FALSE(stream->WaitForUpdate(std::numeric_limits<double>::quiet_NaN()));
  const std::vector<float> samples = NoiseOfChangingLevel(9000, 22);
  std::thread feeder([&] { stream->AcceptSamples(samples.data(), samples.size()); });
  EXPECT_TRUE(stream->WaitForUpdate(std::numeric_limits<double>::infinity()));
  feeder.join();
}

TEST(LiveStreamTest, CancelledStreamsCallNobody) {
  Recognizer recognizer(Tiny(), Workers(2, 2, 30));
  const std::vector<float> samples = NoiseOfChangingLevel(16000, 7);
  for (int round = 0; round < 50; ++round) {
    auto called = std::make_unique<std::atomic<int>>(0);  // freed as soon as Cancel returns
    const auto stream = recognizer.Open(
        Options(1, 2), [count = called.get()](LiveStream&, const LiveUpdate&) { ++*count; });
    std::thread feeder([&] {
      for (size_t at = 0; at < samples.size(); at += 400) {
        stream->AcceptSamples(samples.data() + at, 400);
      }
    });
    if (round % 2 == 0) feeder.join();
    stream->Cancel();
    called.reset();
    if (feeder.joinable()) feeder.join();
    EXPECT_TRUE(stream->is_over());
    EXPECT_EQ(stream->AcceptSamples(samples.data(), 10), 0U);
    EXPECT_THROW(stream->Snapshot(), std::invalid_argument);
  }
  EXPECT_EQ(recognizer.status().num_streams, 0);
}

TEST(LiveStreamTest, AFailedStreamIsNotFeltByOthers) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  std::vector<float> samples = NoiseOfChangingLevel(20000, 13);
  Follower good_follower;
  Follower bad_follower;
  const auto good = recognizer.Open(Options(4, 8), good_follower.Callback());
  const auto bad = recognizer.Open(Options(4, 8), bad_follower.Callback());
  good->AcceptSamples(samples.data(), samples.size());
  std::vector<float> broken = samples;
  broken[15000] = std::numeric_limits<float>::quiet_NaN();
  bad->AcceptSamples(broken.data(), broken.size());
  good->Finish();
  ExpectSame(good_follower.Final().utterances.back().nbest, DecodeAtOnce(samples, Options(4, 8)),
             kBatchScoreTolerance);
  const LiveUpdate final = bad_follower.Final();
  EXPECT_NE(final.error.find("sample 15000 is nan"), std::string::npos) << final.error;
  EXPECT_TRUE(final.utterances.empty());
  EXPECT_TRUE(bad->is_over());
  bad->Finish();  // nothing happens
}

TEST(LiveStreamTest, WholeUtterancesMustFit) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 0.5));
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 14);
  Follower follower;
  const auto stream = recognizer.Open(Options(kWhole, -1), follower.Callback());
  EXPECT_EQ(stream->AcceptSamples(samples.data(), samples.size()), 8000U);
  const LiveUpdate final = follower.Final();
  EXPECT_NE(final.error.find("longer than max_buffered_s"), std::string::npos) << final.error;
  EXPECT_NE(ErrorMessage<std::invalid_argument>([&] {
              recognizer.Open(Options(16, 16));
            }).find("max_buffered_s"),
            std::string::npos);
}

// FinalizeUtterance moves the samples to the decoder, which keeps them until Finish.
TEST(LiveStreamTest, WholeUtterancesMustFitAlsoWhenTheyAreCut) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 0.5));
  const std::vector<float> samples = NoiseOfChangingLevel(6000, 14);
  std::promise<std::string> over;
  std::promise<void> first;
  bool has_first = false;
  const auto stream =
      recognizer.Open(Options(kWhole, -1), [&](LiveStream& /*stream*/, const LiveUpdate& update) {
        if (!std::exchange(has_first, true)) first.set_value();
        if (update.is_final) over.set_value(update.error);
      });
  EXPECT_EQ(stream->AcceptSamples(samples.data(), samples.size()), 6000U);
  stream->FinalizeUtterance();
  ASSERT_EQ(first.get_future().wait_for(testing::kPatience), std::future_status::ready);
  EXPECT_EQ(stream->Room(), 2000U);
  EXPECT_EQ(stream->AcceptSamples(samples.data(), samples.size()), 2000U);
  std::future<std::string> error = over.get_future();
  ASSERT_EQ(error.wait_for(testing::kPatience), std::future_status::ready);
  EXPECT_NE(error.get().find("longer than max_buffered_s"), std::string::npos);
}

TEST(LiveStreamTest, ACallbackMayKeepItsStream) {
  Recognizer recognizer(Tiny(), Workers(2, 4, 30));
  const std::vector<float> samples = NoiseOfChangingLevel(9000, 16);
  for (const bool cancels : {false, true}) {
    Follower follower;
    auto kept = std::make_shared<std::shared_ptr<LiveStream>>();
    auto stream = recognizer.Open(
        Options(4, 8),
        [&follower, kept](LiveStream&, const LiveUpdate& update) { follower.Take(update); });
    *kept = stream;
    const std::weak_ptr<LiveStream> alive = stream;
    const std::weak_ptr<std::shared_ptr<LiveStream>> callback = kept;
    kept.reset();
    stream->AcceptSamples(samples.data(), samples.size());
    if (cancels) {
      stream->Cancel();
    } else {
      stream->Finish();
      follower.Final();
    }
    stream.reset();
    // The worker releases the callback after the update that it has just delivered.
    while (!callback.expired() || !alive.expired()) std::this_thread::yield();
  }
}

TEST(LiveStreamTest, StreamsOutliveTheRecognizer) {
  Follower follower;
  std::shared_ptr<LiveStream> stream;
  {
    Recognizer recognizer(Tiny(), Workers(2, 4, 30));
    stream = recognizer.Open(Options(4, 8), follower.Callback());
    const std::vector<float> samples = NoiseOfChangingLevel(9000, 15);
    stream->AcceptSamples(samples.data(), samples.size());
  }
  EXPECT_TRUE(stream->is_over());
  const float sample = 0;
  EXPECT_EQ(stream->AcceptSamples(&sample, 1), 0U);
  EXPECT_EQ(stream->Room(), 0U);
  stream->Finish();
  EXPECT_THROW(stream->Fork(), std::invalid_argument);
}

// The last stable token of an update may last shorter than the update said.
TEST(LiveStreamTest, TokensOfMergedUpdatesDoNotOverlap) {
  LiveUpdate merged;
  merged.tokens = {{1, 0, 40, 1, 0}, {2, 40, 160, 1, 1}, {3, 160, 200, 1, 4}};
  merged.num_stable_tokens = 2;
  LiveUpdate next;
  next.stable_tokens_before = 2;
  next.tokens = {{4, 120, 150, 1, 3}};
  merged.Append(next);
  ASSERT_EQ(merged.tokens.size(), 3U);
  EXPECT_EQ(merged.tokens[0].end_ms, 40);
  EXPECT_EQ(merged.tokens[1].start_ms, 40);
  EXPECT_EQ(merged.tokens[1].end_ms, 120);
  EXPECT_EQ(merged.tokens[2].start_ms, 120);
}

TEST(LiveStreamTest, MisuseThrows) {
  EXPECT_THROW(Recognizer(nullptr), std::invalid_argument);
  for (const RecognizerOptions& wrong :
       {Workers(0, 1, 1), Workers(1, 0, 1), Workers(1, 1, 0), Workers(1, 1, -1)}) {
    EXPECT_THROW(Recognizer(Tiny(), wrong), std::invalid_argument);
  }
  Recognizer recognizer(Tiny());
  EXPECT_THROW(recognizer.Open(Options(-5, 0)), std::invalid_argument);
  StreamOptions no_results = Options(4, 8);
  no_results.nbest = 0;
  EXPECT_THROW(recognizer.Open(no_results), std::invalid_argument);
}

}  // namespace
}  // namespace runnel
