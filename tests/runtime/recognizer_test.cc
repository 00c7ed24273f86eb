// Live streams, fed from several threads and decoded in batches, say what a Stream alone says.
#include "runtime/recognizer.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstddef>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::DecodeAtOnce;
using testing::Describe;
using testing::ErrorMessage;
using testing::ExpectSame;
using testing::kBatchScoreTolerance;
using testing::kWhole;
using testing::NoiseOfChangingLevel;
using testing::OptionGrid;
using testing::Options;
using testing::Tiny;

// Only against hanging.
constexpr std::chrono::minutes kPatience(5);
constexpr double kPatienceMs = 300000;

// Follows a stream by its updates, as a client would, and checks that they fit together.
class Follower {
 public:
  UpdateCallback Callback() {
    return [this](LiveStream& /*stream*/, const LiveUpdate& update) { Take(update); };
  }

  void Take(const LiveUpdate& update) {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_FALSE(last_.is_final) << "an update after the final one";
    EXPECT_EQ(update.stable_size_before, stable_.size());
    EXPECT_LE(update.num_stable_tokens, update.tokens.size());
    EXPECT_GE(update.audio_ms, last_.audio_ms);
    stable_ += update.stable_text;
    text_ = stable_ + update.tentative_text;
    last_ = update;
    ++num_updates_;
    changed_.notify_all();
  }

  LiveUpdate Final() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [this] { return last_.is_final; })) {
      ADD_FAILURE() << "no final update";
    } else if (last_.error.empty()) {
      EXPECT_EQ(last_.tentative_text, "");
      EXPECT_EQ(last_.nbest.at(0).text, text_);
    }
    return last_;
  }

  int num_updates() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return num_updates_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string stable_;
  std::string text_;
  LiveUpdate last_;
  int num_updates_ = 0;
};

// Waits with the client's means when there is no room.
void Send(LiveStream* stream, const std::vector<float>& samples, size_t max_packet,
          std::mt19937_64* random) {
  for (size_t at = 0; at < samples.size();) {
    const size_t count = std::min(samples.size() - at, size_t{1} + (*random)() % max_packet);
    const size_t taken = stream->AcceptSamples(samples.data() + at, count);
    at += taken;
    if (taken == count) continue;
    std::promise<void> room;
    stream->NotifyRoom([&room] { room.set_value(); });
    ASSERT_EQ(room.get_future().wait_for(kPatience), std::future_status::ready);
    ASSERT_FALSE(stream->is_over());
  }
}

RecognizerOptions Workers(int num_threads, int max_batch_streams, double max_buffered_s) {
  RecognizerOptions options;
  options.num_threads = num_threads;
  options.max_batch_streams = max_batch_streams;
  options.max_batch_wait_ms = 1;
  options.max_buffered_s = max_buffered_s;
  return options;
}

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
        const auto stream = recognizer.Open(grid[i], follower.Callback(), 5);
        Send(stream.get(), samples, 4000, &random);
        stream->Finish();
        const LiveUpdate final = follower.Final();
        EXPECT_EQ(final.error, "");
        EXPECT_EQ(stream->num_samples(), static_cast<int64_t>(samples.size()));
        SCOPED_TRACE(Describe(grid[i]));
        ExpectSame(final.nbest, DecodeAtOnce(samples, grid[i]),
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
  const auto stream = recognizer.Open(options, {}, 5);
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
  ExpectSame(follower.Final().nbest, DecodeAtOnce(samples, options), kBatchScoreTolerance);
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

TEST(RecognizerTest, TakesNoMoreThanItHasRoomFor) {
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
  const auto stream = recognizer.Open(Options(4, 8), follower.Callback(), 5);
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
  ExpectSame(follower.Final().nbest, DecodeAtOnce(samples, Options(4, 8)), kBatchScoreTolerance);
}

TEST(RecognizerTest, WhoHasMoreAudioTakesTurns) {
  Recognizer recognizer(Tiny(), Workers(1, 1, 30));
  // The worker is busy while the others queue up.
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
    // The first sends all at once, the others as much as a few chunks.
    streams[i]->AcceptSamples(samples.data(), i == 0 ? samples.size() : 8000);
    streams[i]->Finish();
  }
  go_on.set_value();
  for (Follower& follower : followers) follower.Final();
  const size_t chunks_of_others = static_cast<size_t>(followers[1].num_updates());
  ASSERT_GT(static_cast<size_t>(followers[0].num_updates()), 2 * chunks_of_others);
  // As long as all have audio, they take turns.
  for (size_t i = 0; i < 4 * chunks_of_others; ++i) EXPECT_EQ(order[i], i % 4) << i;
}

TEST(RecognizerTest, CancelledStreamsCallNobody) {
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
    const auto original = recognizer.Open(options, original_follower.Callback(), 5);
    Send(original.get(), {samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(cut)},
         3000, &random);
    const auto restored = elsewhere.Restore(original->Snapshot(), restored_follower.Callback(), 5);
    const auto forked = original->Fork(forked_follower.Callback());
    EXPECT_EQ(restored->num_samples(), static_cast<int64_t>(cut));
    for (const auto& stream : {original, restored, forked}) {
      Send(stream.get(), rest, 5000, &random);
      stream->Finish();
    }
    for (Follower* follower : {&original_follower, &restored_follower, &forked_follower}) {
      ExpectSame(follower->Final().nbest, expected, kBatchScoreTolerance);
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

TEST(RecognizerTest, AFailedStreamIsNotFeltByOthers) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  std::vector<float> samples = NoiseOfChangingLevel(20000, 13);
  Follower good_follower;
  Follower bad_follower;
  const auto good = recognizer.Open(Options(4, 8), good_follower.Callback(), 5);
  const auto bad = recognizer.Open(Options(4, 8), bad_follower.Callback());
  good->AcceptSamples(samples.data(), samples.size());
  std::vector<float> broken = samples;
  broken[15000] = std::numeric_limits<float>::quiet_NaN();
  bad->AcceptSamples(broken.data(), broken.size());
  good->Finish();
  ExpectSame(good_follower.Final().nbest, DecodeAtOnce(samples, Options(4, 8)),
             kBatchScoreTolerance);
  const LiveUpdate final = bad_follower.Final();
  EXPECT_NE(final.error.find("sample 15000 is nan"), std::string::npos) << final.error;
  EXPECT_TRUE(final.nbest.empty());
  EXPECT_TRUE(bad->is_over());
  bad->Finish();  // nothing happens
}

TEST(RecognizerTest, WholeUtterancesMustFit) {
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

TEST(RecognizerTest, StreamsOutliveTheRecognizer) {
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

TEST(RecognizerTest, MisuseThrows) {
  EXPECT_THROW(Recognizer(nullptr), std::invalid_argument);
  for (const RecognizerOptions& wrong :
       {Workers(0, 1, 1), Workers(1, 0, 1), Workers(1, 1, 0), Workers(1, 1, -1)}) {
    EXPECT_THROW(Recognizer(Tiny(), wrong), std::invalid_argument);
  }
  Recognizer recognizer(Tiny());
  EXPECT_THROW(recognizer.Open(Options(-5, 0)), std::invalid_argument);
  EXPECT_THROW(recognizer.Open(Options(4, 8), {}, 0), std::invalid_argument);
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

}  // namespace
}  // namespace runnel
