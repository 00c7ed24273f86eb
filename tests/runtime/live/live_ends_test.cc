// The end of an utterance or of the audio is decoded next, whatever else waits. The test is the
// worker, and counts its batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/live_stream.h"
#include "runtime/recognizer.h"
#include "tests/support/live_client.h"
#include "tests/support/manual_worker.h"
#include "tests/support/random_audio.h"
#include "tests/support/random_steps.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::ManualWorker;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;

constexpr size_t kChunk = 2560;       // samples of four encoder frames
constexpr size_t kFirstChunk = 4000;  // more than those of the first chunk and what it looks ahead
constexpr std::chrono::hours kWindow(1);

// Batches wait for others nearly for ever.
RecognizerOptions WithWindow() {
  RecognizerOptions options = testing::Workers(1, 16, 30);
  options.max_batch_wait_ms = std::chrono::duration<double, std::milli>(kWindow).count();
  return options;
}

// What one stream was told.
struct Told {
  int64_t num_updates = 0;
  int64_t num_answers = 0;  // to FinalizeUtterance
  bool is_over = false;
  std::vector<Utterance> utterances;

  UpdateCallback Callback() {
    return [this](LiveStream&, const LiveUpdate& update) {
      EXPECT_EQ(update.error, "");
      ++num_updates;
      num_answers += update.num_empty_finalizations;
      for (const Utterance& utterance : update.utterances) {
        num_answers += utterance.end == UtteranceEnd::kFinalize ? 1 : 0;
      }
      testing::Append(&utterances, update.utterances);
      is_over = update.is_final;
    };
  }
};

class LiveEndsTest : public ::testing::Test {
 protected:
  // Streams of which `num_samples` samples each wait.
  void Open(size_t count, size_t num_samples) {
    told_.resize(count);
    for (Told& told : told_) {
      streams_.push_back(worker_.Open(Options(4, 8), told.Callback()));
      ASSERT_EQ(streams_.back()->AcceptSamples(samples_.data(), num_samples), num_samples);
    }
  }

  ManualWorker worker_{WithWindow()};
  const std::vector<float> samples_ = NoiseOfChangingLevel(20000, 1);
  std::vector<Told> told_;
  std::vector<std::shared_ptr<LiveStream>> streams_;
};

TEST_F(LiveEndsTest, AFlushIsTheNextBatch) {
  Open(10, 2 * kChunk);  // all are queued with a chunk
  const auto quiet = worker_.Open(Options(4, 8), told_[0].Callback());
  ASSERT_EQ(worker_.num_queued(), 10U);
  Told told;
  const auto stream = worker_.Open(Options(4, 8), told.Callback());
  ASSERT_EQ(stream->AcceptSamples(samples_.data(), 1600), 1600U);  // less than a chunk
  ASSERT_EQ(worker_.num_queued(), 10U);
  stream->FinalizeUtterance();
  ASSERT_TRUE(worker_.TakeBatch());
  EXPECT_EQ(told.num_answers, 1);
  ASSERT_EQ(told.utterances.size(), 1U);
  EXPECT_EQ(worker_.num_queued(), 10U);
}

// A step for its chunk, and one for the rest.
TEST_F(LiveEndsTest, AStreamThatIsQueuedOvertakesTheOthers) {
  Open(10, 2 * kChunk);
  streams_[7]->FinalizeUtterance();
  streams_[9]->Finish();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(worker_.TakeBatch());
  EXPECT_EQ(told_[7].num_answers, 1);
  EXPECT_TRUE(told_[9].is_over);
  EXPECT_EQ(worker_.num_queued(), 8U);
}

// An upload ends long after its audio began to wait, and nobody waits for its next chunk.
TEST_F(LiveEndsTest, TheEndOfMuchAudioOvertakesNothing) {
  Open(10, 2 * kChunk);
  ASSERT_EQ(streams_[3]->AcceptSamples(samples_.data(), 15000), 15000U);
  streams_[3]->Finish();
  streams_[5]->FinalizeUtterance();
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(worker_.TakeBatch());
  EXPECT_EQ(told_[5].num_answers, 1);
  EXPECT_EQ(told_[3].num_updates, 0);
  while (!told_[3].is_over) ASSERT_TRUE(worker_.TakeBatch());
}

// As a recording has: no time passes until its end.
TEST_F(LiveEndsTest, AStreamThatHoldsItsNextChunkWaitsForNoBatch) {
  Open(1, kFirstChunk);
  const auto recording = worker_.Open(Options(4, 8), told_[0].Callback());
  EXPECT_EQ(worker_.num_queued(), 1U);
  ASSERT_EQ(recording->AcceptSamples(samples_.data(), samples_.size()), samples_.size());
  ASSERT_TRUE(worker_.TakeBatch());
  EXPECT_EQ(told_[0].num_updates, 2);  // the chunk that waited came along
  for (size_t left = samples_.size() - kFirstChunk; left > 2 * kChunk; left -= kChunk) {
    ASSERT_TRUE(worker_.TakeBatch());
  }
  recording->Finish();
  while (!told_[0].is_over) ASSERT_TRUE(worker_.TakeBatch());
}

// Samples that come while the chunk waits in the queue.
TEST_F(LiveEndsTest, AStreamThatGetsItsNextChunkWaitsNoLonger) {
  Open(1, kFirstChunk);
  ASSERT_EQ(worker_.num_queued(), 1U);
  ASSERT_EQ(streams_[0]->AcceptSamples(samples_.data(), 2 * kChunk), 2 * kChunk);
  ASSERT_TRUE(worker_.TakeBatch());
  EXPECT_EQ(told_[0].num_updates, 1);
}

TEST_F(LiveEndsTest, AWholeUtteranceWaitsForNoBatch) {
  told_.resize(1);
  const auto stream = worker_.Open(Options(StreamOptions::kWholeUtterance, 8), told_[0].Callback());
  ASSERT_EQ(stream->AcceptSamples(samples_.data(), kChunk), kChunk);
  stream->Finish();
  while (!told_[0].is_over) ASSERT_TRUE(worker_.TakeBatch());
}

// A live stream beside a recording of another account: its chunk is in the next batch.
TEST_F(LiveEndsTest, ARecordingKeepsNoChunkWaiting) {
  told_.resize(2);
  const auto recording = worker_.Open(Options(4, 8), told_[0].Callback(), "recording");
  ASSERT_EQ(recording->AcceptSamples(samples_.data(), samples_.size()), samples_.size());
  const auto live = worker_.Open(Options(4, 8), told_[1].Callback(), "live");
  size_t begin = 0;
  for (const size_t count : {kFirstChunk, kChunk, kChunk}) {
    ASSERT_TRUE(worker_.TakeBatch());
    ASSERT_EQ(live->AcceptSamples(samples_.data() + begin, count), count);
    begin += count;
    const int64_t before = told_[1].num_updates;
    ASSERT_TRUE(worker_.TakeBatch());
    EXPECT_EQ(told_[1].num_updates, before + 1);
  }
}

// One of the streams of a random walk.
struct Walker {
  std::shared_ptr<LiveStream> stream;
  Told told;
  std::vector<float> audio;    // accepted
  std::vector<size_t> points;  // of FinalizeUtterance
  int64_t num_calls = 0;       // of it
  bool is_finished = false;
  int num_batches = 0;  // since an end was asked for that is not answered

  bool WaitsForEnd() const { return is_finished ? !told.is_over : told.num_answers < num_calls; }

  std::vector<Utterance> Expected() const {
    Stream alone(Tiny(), stream->options());
    std::vector<Utterance> utterances;
    size_t at = 0;
    for (const size_t point : points) {
      alone.AcceptSamples(audio.data() + at, point - at);
      alone.FinalizeUtterance();
      at = point;
    }
    alone.AcceptSamples(audio.data() + at, audio.size() - at);
    alone.Finish();
    alone.Decode();
    testing::Append(&utterances, alone.TakeUtterances());
    return utterances;
  }
};

// While ends wait, batches have nothing else, and two of them are enough for each.
TEST(LiveEndsWalkTest, EndsComeFirstInAnyOrderOfCalls) {
  const uint64_t seed = testing::RandomSeed(11);
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  ManualWorker worker(WithWindow());
  std::vector<Walker> walkers(12);  // fit in one batch
  for (Walker& walker : walkers) {
    walker.stream = worker.Open(Options(4, 8), walker.told.Callback());
  }
  const std::vector<float> samples = NoiseOfChangingLevel(50000, 1);
  const auto take_batch = [&] {
    if (worker.num_queued() == 0) return;
    const bool has_ends = std::any_of(walkers.begin(), walkers.end(),
                                      [](const Walker& walker) { return walker.WaitsForEnd(); });
    if (!has_ends) worker.Advance(kWindow);
    std::vector<int64_t> most_updates;
    for (const Walker& walker : walkers) {
      const bool may_be_in = !has_ends || walker.WaitsForEnd();
      most_updates.push_back(walker.told.num_updates + (may_be_in ? 1 : 0));
    }
    ASSERT_TRUE(worker.TakeBatch());
    for (size_t i = 0; i < walkers.size(); ++i) {
      Walker& walker = walkers[i];
      EXPECT_LE(walker.told.num_updates, most_updates[i]) << i;
      ++walker.num_batches;
      EXPECT_TRUE(!walker.WaitsForEnd() || walker.num_batches < 2) << i;
    }
  };
  for (int64_t step = testing::RandomSteps(6000); step > 0 && !HasFailure(); --step) {
    Walker& walker = walkers[random() % walkers.size()];
    const uint64_t choice = random() % 100;
    if (choice < 30) {
      take_batch();
    } else if (walker.is_finished || walker.WaitsForEnd()) {
      continue;  // so that every end is near
    } else if (choice < 45) {
      walker.stream->FinalizeUtterance();
      walker.points.push_back(walker.audio.size());
      ++walker.num_calls;
      walker.num_batches = 0;
    } else if (choice < 46 && random() % 10 == 0) {
      walker.stream->Finish();
      walker.is_finished = true;
      walker.num_batches = 0;
    } else {
      const float* const packet = samples.data() + random() % (samples.size() / 2);
      const size_t count = 1 + random() % 1600;
      const size_t most = walker.audio.size() < kFirstChunk ? kFirstChunk : kChunk;
      if (walker.stream->num_waiting() + count > most) continue;
      ASSERT_EQ(walker.stream->AcceptSamples(packet, count), count);
      walker.audio.insert(walker.audio.end(), packet, packet + count);
    }
  }
  for (Walker& walker : walkers) walker.stream->Finish();
  for (Walker& walker : walkers) walker.is_finished = true;
  while (worker.num_queued() > 0 && !HasFailure()) {
    worker.Advance(kWindow);
    ASSERT_TRUE(worker.TakeBatch());
  }
  for (const Walker& walker : walkers) {
    EXPECT_TRUE(walker.told.is_over);
    testing::ExpectSameUtterances(walker.told.utterances, walker.Expected(),
                                  testing::kBatchScoreTolerance);
  }
}

}  // namespace
}  // namespace runnel
