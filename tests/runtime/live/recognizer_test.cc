// Live streams, fed from several threads and decoded in batches, give the results of a Stream
// alone.
#include "runtime/recognizer.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/live_client.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::DecodeAtOnce;
using testing::Describe;
using testing::ExpectSame;
using testing::Follower;
using testing::kBatchScoreTolerance;
using testing::kPatienceMs;
using testing::kWhole;
using testing::NoiseOfChangingLevel;
using testing::OptionGrid;
using testing::Options;
using testing::Send;
using testing::Tiny;
using testing::Workers;

TEST(RecognizerTest, StreamsOfManyThreadsSayWhatEachSaysAlone) {
  Recognizer recognizer(Tiny(), Workers(3, 4, 2.5));
  const std::vector<StreamOptions> grid = OptionGrid();
  constexpr size_t kThreads = 4;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (size_t i = t; i < grid.size(); i += kThreads) {
        const std::vector<float> samples = NoiseOfChangingLevel(10000 + 1000 * (i % 20), i);
        Follower follower;
        const auto stream = recognizer.Open(grid[i], follower.Callback());
        Send(stream.get(), samples, 4000, &random);
        stream->Finish();
        const LiveUpdate final = follower.Final();
        EXPECT_EQ(final.error, "");
        EXPECT_EQ(stream->num_samples(), static_cast<int64_t>(samples.size()));
        SCOPED_TRACE(Describe(grid[i]));
        ExpectSame(final.utterances.back().nbest, DecodeAtOnce(samples, grid[i]),
                   Tiny()->is_bit_reproducible() ? 0 : kBatchScoreTolerance);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const RecognizerStatus status = recognizer.status();
  EXPECT_EQ(status.num_streams, 0);
  EXPECT_EQ(status.queued_streams, 0);
  EXPECT_GE(status.num_chunks, status.num_batches);
  EXPECT_GT(status.audio_s, 0);
  EXPECT_GE(status.chunk_ms_p95, status.chunk_ms_p50);
}

TEST(RecognizerTest, PollingGivesTheSame) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  const StreamOptions options = Options(4, 16, SearchMethod::kPrefixBeam);
  const std::vector<float> samples = NoiseOfChangingLevel(40000, 3);
  const auto stream = recognizer.Open(options, {});
  Follower follower;
  LiveUpdate update;
  EXPECT_FALSE(stream->Poll(&update));
  std::mt19937_64 random(1);
  for (size_t at = 0; at < samples.size(); at += 1000) {
    stream->AcceptSamples(samples.data() + at, 1000);
    if (random() % 3 == 0 && stream->Poll(&update)) follower.Take(update);
  }
  stream->Finish();
  while (!update.is_final) {
    ASSERT_TRUE(stream->WaitForUpdate(kPatienceMs));
    ASSERT_TRUE(stream->Poll(&update));
    follower.Take(update);
  }
  ExpectSame(follower.Final().utterances.back().nbest, DecodeAtOnce(samples, options),
             kBatchScoreTolerance);
  EXPECT_TRUE(stream->is_over());
  EXPECT_FALSE(stream->WaitForUpdate(kPatienceMs));  // at once: nothing comes any more
  EXPECT_EQ(stream->AcceptSamples(samples.data(), 1), 0U);
}

TEST(RecognizerTest, BatchesAreReported) {
  std::mutex mutex;
  size_t num_chunks = 0;
  double audio_s = 0;
  RecognizerOptions options = Workers(2, 3, 30);
  options.on_batch = [&](const BatchReport& report) {
    const std::lock_guard<std::mutex> lock(mutex);
    EXPECT_EQ(report.queue_ms.size(), report.chunk_ms.size());
    EXPECT_LE(report.chunk_ms.size(), 3U);
    for (size_t i = 0; i < report.queue_ms.size(); ++i) {
      EXPECT_GE(report.queue_ms[i], 0);
      EXPECT_GE(report.chunk_ms[i], report.queue_ms[i]);
    }
    num_chunks += report.chunk_ms.size();
    audio_s += report.audio_s;
  };
  Recognizer recognizer(Tiny(), options);
  std::vector<Follower> followers(5);
  const std::vector<float> samples = NoiseOfChangingLevel(30000, 3);
  for (Follower& follower : followers) {
    const auto stream = recognizer.Open(Options(4, 8), follower.Callback());
    stream->AcceptSamples(samples.data(), samples.size());
    stream->Finish();  // and let go: it is decoded to its end
  }
  double expected_s = 0;
  for (Follower& follower : followers) expected_s += follower.Final().audio_ms / 1000;
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_EQ(recognizer.status().num_chunks, static_cast<int64_t>(num_chunks));
  EXPECT_NEAR(audio_s, expected_s, 1e-9);
}

TEST(RecognizerTest, WhoHasMoreAudioTakesTurns) {
  Recognizer recognizer(Tiny(), Workers(1, 1, 30));
  // The worker is busy while the other streams queue up.
  std::promise<void> called;
  std::promise<void> go_on;
  const auto first = recognizer.Open(Options(1, 0), [&](LiveStream& stream, const LiveUpdate&) {
    called.set_value();
    go_on.get_future().wait();
    stream.Cancel();
  });
  const std::vector<float> samples = NoiseOfChangingLevel(60000, 6);
  first->AcceptSamples(samples.data(), 4000);
  called.get_future().wait();
  std::vector<size_t> order;  // of decoded chunks; written by the one worker
  std::vector<Follower> followers(4);
  std::vector<std::shared_ptr<LiveStream>> streams;
  for (size_t i = 0; i < followers.size(); ++i) {
    streams.push_back(recognizer.Open(Options(2, 4), [&, i](LiveStream&, const LiveUpdate& update) {
      order.push_back(i);
      followers[i].Take(update);
    }));
    // The first stream sends all its audio at once, the others a few chunks.
    streams[i]->AcceptSamples(samples.data(), i == 0 ? samples.size() : 8000);
    streams[i]->Finish();
  }
  go_on.set_value();
  for (Follower& follower : followers) follower.Final();
  const size_t chunks_of_others = static_cast<size_t>(followers[1].num_updates());
  ASSERT_GT(static_cast<size_t>(followers[0].num_updates()), 2 * chunks_of_others);
  // Until the first ends are near, each gets one chunk in turn.
  ASSERT_GT(chunks_of_others, 5U);
  for (size_t i = 0; i < 4 * (chunks_of_others - 5); ++i) EXPECT_EQ(order[i], i % 4) << i;
}

TEST(RecognizerTest, RestoredAndForkedAtAnySample) {
  Recognizer recognizer(Tiny(), Workers(2, 4, 30));
  Recognizer elsewhere(Tiny(), Workers(1, 4, 30));
  const std::vector<float> samples = NoiseOfChangingLevel(48000, 11);
  std::mt19937_64 random(5);
  for (const StreamOptions& options : {Options(4, 16), Options(3, 7, SearchMethod::kPrefixBeam),
                                       Options(16, -1), Options(kWhole, -1)}) {
    SCOPED_TRACE(Describe(options));
    const auto expected = DecodeAtOnce(samples, options);
    const size_t cut = random() % samples.size();
    const std::vector<float> rest(samples.begin() + static_cast<std::ptrdiff_t>(cut),
                                  samples.end());
    Follower original_follower;
    Follower restored_follower;
    Follower forked_follower;
    const auto original = recognizer.Open(options, original_follower.Callback());
    Send(original.get(), {samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(cut)},
         3000, &random);
    const auto restored = elsewhere.Restore(original->Snapshot(), restored_follower.Callback());
    const auto forked = original->Fork(forked_follower.Callback());
    EXPECT_EQ(restored->num_samples(), static_cast<int64_t>(cut));
    for (const auto& stream : {original, restored, forked}) {
      Send(stream.get(), rest, 5000, &random);
      stream->Finish();
    }
    for (Follower* follower : {&original_follower, &restored_follower, &forked_follower}) {
      ExpectSame(follower->Final().utterances.back().nbest, expected, kBatchScoreTolerance);
    }
  }
}

TEST(RecognizerTest, ASnapshotInTheCallbackIsOfThisMoment) {
  Recognizer recognizer(Tiny(), Workers(2, 4, 30));
  const StreamOptions options = Options(2, 8);
  const std::vector<float> samples = NoiseOfChangingLevel(30000, 12);
  std::string snapshot;
  double snapshot_ms = 0;
  Follower follower;
  const auto stream = recognizer.Open(options, [&](LiveStream& live, const LiveUpdate& update) {
    if (snapshot.empty() && update.audio_ms > 500) {
      snapshot = live.Snapshot();
      snapshot_ms = update.audio_ms;
    }
    follower.Take(update);
  });
  stream->AcceptSamples(samples.data(), samples.size());
  stream->Finish();
  follower.Final();
  Stream restored = Stream::Restore(Tiny(), snapshot);
  EXPECT_EQ(static_cast<double>(restored.num_encoder_frames()) * Tiny()->encoder_frame_ms(),
            snapshot_ms);
  EXPECT_EQ(restored.num_samples(), static_cast<int64_t>(samples.size()));
  restored.Finish();
  restored.Decode();
  EXPECT_EQ(restored.Text(), DecodeAtOnce(samples, options).front().text);
}

TEST(RecognizerTest, LongChunksAreNoPartOfABatch) {
  std::mutex mutex;
  std::vector<size_t> batches;  // streams in each
  RecognizerOptions workers = Workers(1, 8, 30);
  workers.on_batch = [&](const BatchReport& report) {
    const std::lock_guard<std::mutex> lock(mutex);
    batches.push_back(report.chunk_ms.size());
  };
  Recognizer recognizer(Tiny(), workers);
  std::promise<void> called;
  std::promise<void> go_on;
  const auto first = recognizer.Open(Options(1, 0), [&](LiveStream& stream, const LiveUpdate&) {
    called.set_value();
    go_on.get_future().wait();
    stream.Cancel();
  });
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 6);
  first->AcceptSamples(samples.data(), 4000);
  called.get_future().wait();
  std::vector<Follower> followers(6);
  for (size_t i = 0; i < followers.size(); ++i) {
    const StreamOptions options = i % 2 == 0 ? Options(kWhole, -1) : Options(64, 8);
    const auto stream = recognizer.Open(options, followers[i].Callback());
    stream->AcceptSamples(samples.data(), samples.size());
    stream->Finish();
  }
  go_on.set_value();
  for (Follower& follower : followers) follower.Final();
  const std::lock_guard<std::mutex> lock(mutex);
  EXPECT_EQ(batches, (std::vector<size_t>{1, 3, 1, 1, 1}));
}

TEST(LiveUpdateTest, TwoUpdatesInOneSayTheSame) {
  LiveUpdate first;
  first.stable_text = "one ";
  first.tentative_text = "tu";
  first.tokens = {{1}, {2}, {3}};
  first.num_stable_tokens = 2;
  LiveUpdate second;
  second.stable_size_before = 4;
  second.stable_text = "two";
  second.tentative_text = "t";
  second.tokens = {{4}, {5}};
  second.num_stable_tokens = 1;
  second.stable_tokens_before = 2;
  second.is_final = true;
  first.Append(second);
  EXPECT_EQ(first.stable_size_before, 0U);
  EXPECT_EQ(first.stable_text, "one two");
  EXPECT_EQ(first.tentative_text, "t");
  EXPECT_EQ(first.num_stable_tokens, 3U);
  ASSERT_EQ(first.tokens.size(), 4U);
  EXPECT_EQ(first.tokens[2].id, 4);
  EXPECT_TRUE(first.is_final);
}

TEST(LiveUpdateTest, AnUtteranceThatBeginsAnewForgetsTokensWithoutText) {
  LiveUpdate first;
  first.tokens = {{1}};
  first.num_stable_tokens = 1;
  LiveUpdate anew;
  anew.stable_text = "two";
  anew.tokens = {{4}, {5}};
  anew.num_stable_tokens = 1;
  first.Append(anew);
  EXPECT_EQ(first.stable_text, "two");
  EXPECT_EQ(first.num_stable_tokens, 1U);
  ASSERT_EQ(first.tokens.size(), 2U);
  EXPECT_EQ(first.tokens[0].id, 4);
}

}  // namespace
}  // namespace runnel
