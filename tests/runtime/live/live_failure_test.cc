// What fails in one stream ends that stream, and nothing else.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/live_stream.h"
#include "runtime/recognizer.h"
#include "tests/support/live_client.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::DecodeAtOnce;
using testing::ExpectSame;
using testing::Follower;
using testing::kPatience;
using testing::kPatienceMs;
using testing::kWhole;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;
using testing::Workers;

// The last update of a polled stream.
LiveUpdate Last(LiveStream* stream) {
  LiveUpdate update;
  while (!update.is_final && stream->WaitForUpdate(kPatienceMs)) stream->Poll(&update);
  return update;
}

// While a FinalizeUtterance waits behind the place where the stream fails.
TEST(LiveFailureTest, AStreamThatEndedWithAnErrorHasNoSnapshot) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 0.5));
  std::vector<float> samples = NoiseOfChangingLevel(8000, 1);
  samples[5000] = std::numeric_limits<float>::quiet_NaN();
  for (const int64_t chunk_size : {int64_t{4}, kWhole}) {
    const auto stream = recognizer.Open(Options(chunk_size, -1));
    stream->AcceptSamples(samples.data(), 7000);
    stream->FinalizeUtterance();
    if (chunk_size == kWhole)
      stream->AcceptSamples(samples.data(), 2000);  // more than there is room
    EXPECT_NE(Last(stream.get()).error, "");
    EXPECT_TRUE(stream->is_over());
    EXPECT_FALSE(stream->is_finalizing());
    EXPECT_THROW(stream->Snapshot(), std::invalid_argument);
    EXPECT_THROW(stream->Fork(), std::invalid_argument);
  }
}

TEST(LiveFailureTest, AStreamThatEndedWellHasASnapshot) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  const auto stream = recognizer.Open(Options(4, 8));
  stream->AcceptSamples(NoiseOfChangingLevel(8000, 1).data(), 8000);
  stream->Finish();
  EXPECT_EQ(Last(stream.get()).error, "");
  EXPECT_EQ(Last(recognizer.Restore(stream->Snapshot()).get()).error, "");
}

TEST(LiveFailureTest, ACallbackThatThrowsEndsItsStream) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 2);
  Follower good;
  const auto other = recognizer.Open(Options(4, 8), good.Callback());
  std::promise<LiveUpdate> last;
  int num_calls = 0;
  const auto bad =
      recognizer.Open(Options(4, 8), [&](LiveStream& stream, const LiveUpdate& update) {
        EXPECT_EQ(stream.is_over(), update.is_final);
        if (++num_calls == 3) last.set_value(update);
        if (num_calls >= 2) throw std::out_of_range("a fault of the caller\nwith more lines");
      });
  for (LiveStream* stream : {other.get(), bad.get()}) {
    EXPECT_EQ(stream->AcceptSamples(samples.data(), samples.size()), samples.size());
    stream->Finish();
  }
  std::future<LiveUpdate> update = last.get_future();
  ASSERT_EQ(update.wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(update.get().error, "a fault of the caller");
  ExpectSame(good.Final().utterances.back().nbest, DecodeAtOnce(samples, Options(4, 8)),
             testing::kBatchScoreTolerance);
  bad->Cancel();  // waits for the callback
  EXPECT_EQ(num_calls, 3);
  EXPECT_EQ(recognizer.status().num_streams, 0);
}

TEST(LiveFailureTest, ARoomCallbackThatThrowsInAWorkerEndsItsStream) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 0.5));
  std::promise<void> go_on;
  const auto busy = recognizer.Open(Options(1, 0), [&](LiveStream& stream, const LiveUpdate&) {
    go_on.get_future().wait();
    stream.Cancel();
  });
  const std::vector<float> samples = NoiseOfChangingLevel(8000, 3);
  busy->AcceptSamples(samples.data(), 4000);
  const auto stream = recognizer.Open(Options(4, 8));
  EXPECT_EQ(stream->AcceptSamples(samples.data(), samples.size()), samples.size());
  stream->NotifyRoom([] { throw 5; });
  go_on.set_value();
  EXPECT_EQ(Last(stream.get()).error, "unknown error");
  EXPECT_TRUE(stream->is_over());
}

TEST(LiveFailureTest, ABatchCallbackThatThrowsEndsNothing) {
  RecognizerOptions options = Workers(1, 4, 30);
  options.on_batch = [](const BatchReport&) { throw std::runtime_error("a fault of the caller"); };
  Recognizer recognizer(Tiny(), options);
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 4);
  const auto stream = recognizer.Open(Options(4, 8));
  stream->AcceptSamples(samples.data(), samples.size());
  stream->Finish();
  ExpectSame(Last(stream.get()).utterances.back().nbest, DecodeAtOnce(samples, Options(4, 8)),
             testing::kBatchScoreTolerance);
}

// The chunk is longer than half of the room.
TEST(LiveRoomTest, AStreamThatWaitsForSamplesHasRoom) {
  for (const int rate_hz : {8000, 16000, 44100, 48000}) {
    StreamOptions options = Options(4, 8);
    options.sample_rate_hz = rate_hz;
    Recognizer recognizer(Tiny(), Workers(1, 4, 0.25));
    const auto stream = recognizer.Open(options);
    const std::vector<float> samples = NoiseOfChangingLevel(48000, 5);
    const size_t count = stream->Room() * 5 / 8;  // less than a chunk, more than half
    EXPECT_EQ(stream->AcceptSamples(samples.data(), count), count);
    EXPECT_EQ(recognizer.status().queued_streams, 0);
    bool is_called = false;
    stream->NotifyRoom([&] { is_called = true; });
    EXPECT_TRUE(is_called) << rate_hz;
  }
}

// Also where a FinalizeUtterance has moved the end of the chunk against the buffer.
TEST(LiveRoomTest, AFastClientIsNeverLeftWaiting) {
  constexpr uint64_t kSeed = 6;
  std::mt19937_64 random(kSeed);
  for (const int rate_hz : {8000, 16000, 44100, 48000}) {
    for (const double max_buffered_s : {0.25, 0.3, 0.5}) {
      StreamOptions options = Options(4, 8);
      options.sample_rate_hz = rate_hz;
      SCOPED_TRACE(std::to_string(rate_hz) + " Hz, " + std::to_string(max_buffered_s) + " s");
      Recognizer recognizer(Tiny(), Workers(1, 4, max_buffered_s));
      const auto stream = recognizer.Open(options);
      const std::vector<float> samples = NoiseOfChangingLevel(48000, random());
      for (int i = 0; i < 6; ++i) {
        testing::Send(stream.get(), {samples.begin(), samples.begin() + 1 + random() % 6000}, 5000,
                      &random);
        stream->FinalizeUtterance();
        testing::Send(stream.get(), {samples.begin(), samples.begin() + 1 + random() % 20000}, 5000,
                      &random);
      }
      stream->Finish();
      EXPECT_EQ(Last(stream.get()).error, "");
    }
  }
}

// Of a chunk that fits only because the snapshot holds most of it.
TEST(LiveRoomTest, ARestoredStreamIsDecodedInLittleRoom) {
  const std::vector<float> samples = NoiseOfChangingLevel(60000, 7);
  Recognizer large(Tiny(), Workers(1, 4, 30));
  const auto original = large.Open(Options(16, 16));
  original->AcceptSamples(samples.data(), 9000);
  Recognizer small(Tiny(), Workers(1, 4, 0.5));
  EXPECT_THROW(small.Open(Options(16, 16)), std::invalid_argument);
  const auto restored = small.Restore(original->Snapshot());
  std::mt19937_64 random(8);
  testing::Send(restored.get(), {samples.begin() + 9000, samples.end()}, 5000, &random);
  restored->Finish();
  ExpectSame(Last(restored.get()).utterances.back().nbest, DecodeAtOnce(samples, Options(16, 16)),
             testing::kBatchScoreTolerance);
}

TEST(LiveRoomTest, WholeUtterancesThatFillTheRoomEnd) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 0.5));
  const std::vector<float> samples = NoiseOfChangingLevel(8001, 9);
  const auto stream = recognizer.Open(Options(kWhole, -1));
  EXPECT_EQ(stream->AcceptSamples(samples.data(), 8000), 8000U);
  bool is_called = false;
  stream->NotifyRoom([&] { is_called = true; });
  EXPECT_TRUE(is_called);
  EXPECT_EQ(stream->AcceptSamples(samples.data() + 8000, 1), 0U);
  EXPECT_NE(Last(stream.get()).error.find("longer than max_buffered_s"), std::string::npos);
}

TEST(LiveRoomTest, AnIntervalLongerThanAChunkHasNoPreviews) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  StreamOptions early = Options(4, 8);
  early.early_text.interval = 1000000;
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 10);
  const auto stream = recognizer.Open(early);
  stream->AcceptSamples(samples.data(), samples.size());
  stream->Finish();
  ExpectSame(Last(stream.get()).utterances.back().nbest, DecodeAtOnce(samples, Options(4, 8)),
             testing::kBatchScoreTolerance);
}

}  // namespace
}  // namespace runnel
