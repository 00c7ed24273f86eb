// LiveStream::FinalizeUtterance: how many may wait, and what snapshots and forks hold of them.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/live_stream.h"
#include "runtime/recognizer.h"
#include "tests/support/live_client.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::ExpectSame;
using testing::kPatience;
using testing::kPatienceMs;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;
using testing::Workers;

// The utterances of a polled stream until its last update.
std::vector<Utterance> ToEnd(LiveStream* stream) {
  std::vector<Utterance> utterances;
  while (stream->WaitForUpdate(kPatienceMs)) {
    LiveUpdate update;
    EXPECT_TRUE(stream->Poll(&update));
    EXPECT_EQ(update.error, "");
    for (Utterance& utterance : update.utterances) utterances.push_back(std::move(utterance));
    if (update.is_final) break;
  }
  return utterances;
}

void ExpectSame(const std::vector<Utterance>& actual, const std::vector<Utterance>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].index, expected[i].index);
    EXPECT_EQ(actual[i].end, expected[i].end);
    EXPECT_EQ(actual[i].searched_ms, expected[i].searched_ms);
    testing::ExpectSame(actual[i].nbest, expected[i].nbest);
  }
}

TEST(FinalizeTest, EveryCallIsAnswered) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 1);
  const auto stream = recognizer.Open(Options(4, 8));
  // The calls without an utterance, after `count` calls with `num_new` new samples before them.
  size_t num_sent = 0;
  const auto num_empty = [&](size_t num_new, int count) {
    EXPECT_EQ(stream->AcceptSamples(samples.data() + num_sent, num_new), num_new);
    num_sent += num_new;
    for (int i = 0; i < count; ++i) stream->FinalizeUtterance();
    int64_t empty = 0;
    int64_t with_utterance = 0;
    while (empty + with_utterance < count) {
      LiveUpdate update;
      if (!stream->WaitForUpdate(kPatienceMs) || !stream->Poll(&update)) break;
      empty += update.num_empty_finalizations;
      with_utterance += static_cast<int64_t>(update.utterances.size());
    }
    EXPECT_EQ(empty + with_utterance, count);
    return empty;
  };
  EXPECT_EQ(num_empty(0, 1), 1);
  EXPECT_EQ(num_empty(0, 3), 3);
  EXPECT_EQ(num_empty(8000, 1), 0);
  EXPECT_EQ(num_empty(0, 1), 1);
  EXPECT_EQ(num_empty(10, 1), 1);  // less than an encoder frame
  EXPECT_EQ(num_empty(8000, 5), 4);
  stream->Finish();
  LiveUpdate last;
  while (!last.is_final && stream->WaitForUpdate(kPatienceMs)) stream->Poll(&last);
  EXPECT_EQ(last.num_empty_finalizations, 0);
}

TEST(FinalizeTest, WithoutNewSamplesNothingEnds) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 1);
  const auto stream = recognizer.Open(Options(4, 8));
  stream->FinalizeUtterance();
  stream->AcceptSamples(samples.data(), 10000);
  for (int i = 0; i < 1000; ++i) stream->FinalizeUtterance();
  stream->AcceptSamples(samples.data() + 10000, 10000);
  stream->FinalizeUtterance();
  stream->Finish();
  const std::vector<Utterance> utterances = ToEnd(stream.get());
  ASSERT_EQ(utterances.size(), 3U);
  EXPECT_EQ(utterances[0].end, UtteranceEnd::kFinalize);
  EXPECT_EQ(utterances[1].end, UtteranceEnd::kFinalize);
  EXPECT_EQ(utterances[2].end, UtteranceEnd::kFinish);
  EXPECT_TRUE(utterances[2].nbest.at(0).tokens.empty());
}

// A fork has carried out the first call. A beam search finds tokens again in the frames that it
// searches again, and a rule holds there.
TEST(FinalizeTest, ASecondCallInAForkEndsNothing) {
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  const std::vector<float> samples = NoiseOfChangingLevel(32000, 16);
  const StreamOptions options = testing::WithEndpoints(Options(5, 4, SearchMethod::kPrefixBeam));
  const auto stream = recognizer.Open(options);
  constexpr size_t kEnd = 16240;
  stream->AcceptSamples(samples.data(), kEnd);
  stream->FinalizeUtterance();
  const auto fork = stream->Fork();
  fork->FinalizeUtterance();
  for (const auto& each : {stream, fork}) {
    each->AcceptSamples(samples.data() + kEnd, samples.size() - kEnd);
    each->Finish();
  }
  ExpectSame(ToEnd(fork.get()), ToEnd(stream.get()));
}

// Each call costs a chunk, and a snapshot decodes what waits.
TEST(FinalizeTest, FewMayWait) {
  std::promise<void> go_on;
  std::promise<void> in_callback;
  bool is_first = true;
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  const auto other = recognizer.Open(Options(4, 8), [&](LiveStream&, const LiveUpdate&) {
    if (!std::exchange(is_first, false)) return;
    in_callback.set_value();
    go_on.get_future().wait();  // the only worker
  });
  const std::vector<float> samples = NoiseOfChangingLevel(10000, 2);
  other->AcceptSamples(samples.data(), samples.size());
  in_callback.get_future().wait();
  const auto stream = recognizer.Open(Options(4, 8));
  size_t num_accepted = 0;
  int num_calls = 0;
  while (stream->Room() > 0) {
    ASSERT_EQ(stream->AcceptSamples(samples.data() + num_accepted, 2000), 2000U);
    num_accepted += 2000;
    stream->FinalizeUtterance();
    ASSERT_LT(++num_calls, 10);
  }
  EXPECT_TRUE(stream->is_finalizing());
  EXPECT_EQ(stream->AcceptSamples(samples.data(), 1), 0U);
  std::promise<void> room;
  stream->NotifyRoom([&] { room.set_value(); });
  go_on.set_value();
  ASSERT_EQ(room.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_GT(stream->Room(), 0U);
  stream->Finish();
  EXPECT_EQ(ToEnd(stream.get()).size(), static_cast<size_t>(num_calls) + 1);
  EXPECT_FALSE(stream->is_finalizing());
}

// Snapshots at any time, also while a call waits. Every utterance is brought by an update of the
// original stream or by the restored one, as `first_utterance` says.
TEST(FinalizeTest, SnapshotsLoseNoUtterance) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Recognizer recognizer(Tiny(), Workers(2, 4, 30));
  constexpr size_t kPiece = 5000;
  constexpr size_t kPieces = 8;
  const std::vector<float> samples = NoiseOfChangingLevel(kPiece * kPieces, 3);
  const auto play = [&](LiveStream* stream, size_t first) {
    for (size_t i = first; i < kPieces; ++i) {
      if (i > 0) stream->FinalizeUtterance();  // again where a snapshot was taken: no effect
      for (size_t at = 0; at < kPiece; std::this_thread::yield()) {
        at += stream->AcceptSamples(samples.data() + i * kPiece + at, kPiece - at);
      }
    }
    stream->Finish();
  };
  const auto whole = recognizer.Open(Options(4, 8));
  play(whole.get(), 0);
  const std::vector<Utterance> expected = ToEnd(whole.get());
  ASSERT_EQ(expected.size(), kPieces);
  for (int round = 0; round < 20; ++round) {
    const size_t num_pieces = 1 + random() % (kPieces - 1);
    const auto original = recognizer.Open(Options(4, 8));
    for (size_t i = 0; i < num_pieces; ++i) {
      for (size_t at = 0; at < kPiece; std::this_thread::yield()) {
        at += original->AcceptSamples(samples.data() + i * kPiece + at, kPiece - at);
      }
      if (i + 1 < num_pieces || random() % 2 == 0) original->FinalizeUtterance();
    }
    int64_t first_utterance = -1;
    const auto restored = recognizer.Restore(original->Snapshot(&first_utterance));
    ASSERT_GE(first_utterance, 0);
    ASSERT_LE(first_utterance, static_cast<int64_t>(num_pieces));
    play(restored.get(), num_pieces);
    ExpectSame(ToEnd(restored.get()), {expected.begin() + first_utterance, expected.end()});
  }
}

TEST(FinalizeTest, ASnapshotOfAStreamThatFailsThereHoldsTheFailure) {
  RecognizerOptions options = Workers(1, 2, 30);
  options.max_batch_wait_ms = 3.6e6;  // the batch waits for another stream
  const std::shared_ptr<const Model> model = testing::TinyThatFails();
  Recognizer recognizer(model, options);
  const auto stream = recognizer.Open(Options(4, 8));
  const std::vector<float> samples = NoiseOfChangingLevel(10000, 5);
  ASSERT_EQ(stream->AcceptSamples(samples.data(), samples.size()), samples.size());
  stream->FinalizeUtterance();
  const Stream restored = Stream::Restore(model, stream->Snapshot());
  EXPECT_NE(restored.failure(), "");
}

// A client that waits for its flush may have no more audio.
TEST(FinalizeTest, ARestoredStreamBringsWhatEndedAtOnce) {
  const std::vector<float> samples = NoiseOfChangingLevel(10000, 4);
  Stream stream(Tiny(), Options(4, 8));
  stream.AcceptSamples(samples.data(), samples.size());
  stream.FinalizeUtterance();
  EXPECT_EQ(stream.first_utterance(), 0);
  EXPECT_EQ(stream.utterance_index(), 1);
  Recognizer recognizer(Tiny(), Workers(1, 4, 30));
  const auto restored = recognizer.Restore(stream.Snapshot());
  LiveUpdate update;
  ASSERT_TRUE(restored->WaitForUpdate(kPatienceMs));
  ASSERT_TRUE(restored->Poll(&update));
  EXPECT_EQ(update.utterances.size(), 1U);
  EXPECT_EQ(stream.TakeUtterances().size(), 1U);
  EXPECT_EQ(stream.first_utterance(), 1);
}

}  // namespace
}  // namespace runnel
