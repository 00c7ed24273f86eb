// Utterances of live streams: those of Stream, whatever the packets, threads, batches, previews and
// snapshots.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/recognizer.h"
#include "tests/support/live_client.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::Describe;
using testing::ExpectSameUtterances;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;
using testing::UtterancesOf;
using testing::WithEndpoints;

// Collects the utterances of one stream, and checks that the texts between them fit together.
class Collector {
 public:
  UpdateCallback Callback() {
    return [this](LiveStream&, const LiveUpdate& update) { Take(update); };
  }

  std::vector<Utterance> Wait() {
    std::future<void> over = over_.get_future();
    EXPECT_EQ(over.wait_for(testing::kPatience), std::future_status::ready);
    const std::lock_guard<std::mutex> lock(mutex_);
    return utterances_;
  }

  std::vector<Utterance> Now() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return utterances_;
  }

  int num_updates() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return num_updates_;
  }

 private:
  void Take(const LiveUpdate& update) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++num_updates_;
    EXPECT_EQ(update.error, "");
    for (const Utterance& utterance : update.utterances) {
      EXPECT_EQ(utterance.index, static_cast<int64_t>(utterances_.size()));
      utterances_.push_back(utterance);
    }
    if (update.utterance_index != index_) stable_.clear();
    index_ = update.utterance_index;
    if (update.stable_size_before == 0) stable_.clear();
    EXPECT_EQ(update.stable_size_before, stable_.size());
    EXPECT_EQ(index_, static_cast<int64_t>(utterances_.size()) - (update.is_final ? 1 : 0));
    stable_ += update.stable_text;
    if (!update.is_final) return;
    EXPECT_EQ(update.tentative_text, "");
    EXPECT_EQ(utterances_.back().nbest.front().text, stable_);
    over_.set_value();
  }

  std::mutex mutex_;
  std::promise<void> over_;
  std::vector<Utterance> utterances_;
  std::string stable_;
  int64_t index_ = 0;
  int num_updates_ = 0;
};

TEST(LiveUtterancesTest, AreThoseOfStream) {
  constexpr uint64_t kSeed = 41;
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::vector<StreamOptions> grid;
  for (const int64_t interval : {0, 1, 2, 3}) {
    for (StreamOptions options :
         {WithEndpoints(Options(4, 8)), WithEndpoints(Options(16, 16, SearchMethod::kPrefixBeam)),
          Options(8, 8)}) {
      options.early_text.interval = interval;
      options.endpoints.skip_silence = interval == 3 && options.endpoints.enabled;
      grid.push_back(options);
    }
  }
  RecognizerOptions recognizer_options;
  recognizer_options.num_threads = 3;
  recognizer_options.max_batch_streams = 5;
  Recognizer recognizer(Tiny(), recognizer_options);
  std::vector<Collector> collectors(grid.size());
  std::vector<std::shared_ptr<LiveStream>> streams;
  std::vector<std::vector<float>> samples;
  for (size_t i = 0; i < grid.size(); ++i) {
    samples.push_back(NoiseOfChangingLevel(40000 + random() % 20000, random()));
    streams.push_back(recognizer.Open(grid[i], collectors[i].Callback()));
  }
  for (size_t i = 0; i < grid.size(); ++i) {
    testing::Send(streams[i].get(), samples[i], 3000, &random);
    streams[i]->Finish();
  }
  for (size_t i = 0; i < grid.size(); ++i) {
    SCOPED_TRACE(Describe(grid[i]));
    ExpectSameUtterances(collectors[i].Wait(), UtterancesOf(samples[i], grid[i]),
                         testing::kBatchScoreTolerance);
  }
}

// A noise that gives tokens without text, and an endpoint after it.
TEST(LiveUtterancesTest, TokensWithoutTextEndNoStream) {
  RecognizerOptions recognizer_options;
  recognizer_options.max_batch_wait_ms = 0;
  Recognizer recognizer(Tiny(), recognizer_options);
  int num_forgotten = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    StreamOptions options =
        Options(1, 3, seed % 2 == 0 ? SearchMethod::kGreedy : SearchMethod::kPrefixBeam);
    options.endpoints.enabled = true;
    options.endpoints.silence_blank_probability = 0.15;
    options.endpoints.rules = {{{false, 0.2, 0}, {true, 0.04, 0}, {false, 0, 0.08}}};
    const std::vector<float> samples = NoiseOfChangingLevel(16000, seed);
    std::promise<void> over;
    size_t num_stable_tokens = 0;
    int64_t index = 0;
    const auto live = recognizer.Open(options, [&](LiveStream&, const LiveUpdate& update) {
      EXPECT_EQ(update.error, "");
      if (update.stable_tokens_before != num_stable_tokens) {
        EXPECT_EQ(update.stable_tokens_before, 0U);
        num_forgotten += update.utterance_index == index ? 1 : 0;
      }
      num_stable_tokens = update.stable_tokens_before + update.num_stable_tokens;
      index = update.utterance_index;
      if (update.is_final) over.set_value();
    });
    live->AcceptSamples(samples.data(), samples.size());
    live->Finish();
    ASSERT_EQ(over.get_future().wait_for(testing::kPatience), std::future_status::ready);
  }
  EXPECT_GT(num_forgotten, 0);
}

TEST(LiveUtterancesTest, FinalizeUtteranceIsThatOfStream) {
  constexpr uint64_t kSeed = 43;
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Recognizer recognizer(Tiny());
  for (int round = 0; round < 6; ++round) {
    StreamOptions options = Options(round % 2 == 0 ? 4 : 16, 8);
    options.early_text.interval = round % 3;
    const std::vector<float> samples = NoiseOfChangingLevel(60000, random());
    const size_t at = random() % samples.size();
    Stream stream(Tiny(), options);
    stream.AcceptSamples(samples.data(), at);
    stream.FinalizeUtterance();
    stream.AcceptSamples(samples.data() + at, samples.size() - at);
    stream.Finish();
    stream.Decode();

    Collector collector;
    auto live = recognizer.Open(options, collector.Callback());
    const std::vector<float> before(samples.begin(),
                                    samples.begin() + static_cast<std::ptrdiff_t>(at));
    testing::Send(live.get(), before, 5000, &random);
    live->FinalizeUtterance();
    const std::vector<float> after(samples.begin() + static_cast<std::ptrdiff_t>(at),
                                   samples.end());
    testing::Send(live.get(), after, 5000, &random);
    live->Finish();
    ExpectSameUtterances(collector.Wait(), stream.TakeUtterances(), testing::kBatchScoreTolerance);
  }
}

TEST(LiveUtterancesTest, ASnapshotHoldsWhatIsToBeFinalized) {
  const std::vector<float> samples = NoiseOfChangingLevel(30000, 44);
  RecognizerOptions waiting;
  waiting.max_batch_wait_ms = 3.6e6;  // the batch waits for other streams
  waiting.max_batch_streams = 2;
  Recognizer recognizer(Tiny(), waiting);
  const StreamOptions options = Options(4, 8);
  const auto live = recognizer.Open(options);
  live->AcceptSamples(samples.data(), samples.size());
  live->FinalizeUtterance();
  const std::string snapshot = live->Snapshot();
  Recognizer elsewhere(Tiny());
  Collector collector;
  const auto restored = elsewhere.Restore(snapshot, collector.Callback());
  restored->Finish();
  const std::vector<Utterance> utterances = collector.Wait();
  ASSERT_EQ(utterances.size(), 2U);
  std::vector<Utterance> expected = UtterancesOf(samples, options);
  expected[0].end = UtteranceEnd::kFinalize;
  ExpectSameUtterances({utterances[0]}, expected, testing::kBatchScoreTolerance);
}

TEST(LiveUtterancesTest, APreviewGivesTextBeforeTheChunkIsComplete) {
  const std::vector<float> samples = NoiseOfChangingLevel(64000, 45);
  StreamOptions options = Options(16, 16);
  options.early_text = {/*interval=*/2, /*padding=*/2};
  Stream stream(Tiny(), options);
  Recognizer recognizer(Tiny());
  const auto live = recognizer.Open(options);  // polled
  constexpr size_t kPart = 8000;               // 12 encoder frames
  stream.AcceptSamples(samples.data(), kPart);
  ASSERT_FALSE(stream.ChunkReady());
  const std::string before = stream.Snapshot();
  Stream preview = stream.Preview(2);
  preview.Decode();
  EXPECT_EQ(stream.Snapshot(), before) << "the stream does not change";
  ASSERT_NE(preview.Text(), "");
  live->AcceptSamples(samples.data(), kPart);
  LiveUpdate update;
  ASSERT_TRUE(live->WaitForUpdate(testing::kPatienceMs));
  ASSERT_TRUE(live->Poll(&update));
  EXPECT_EQ(update.stable_text, "");
  EXPECT_EQ(update.tentative_text, preview.Text());
  EXPECT_EQ(update.tokens.size(), preview.TokensSince(0).size());
  EXPECT_EQ(update.audio_ms, 40.0 * static_cast<double>(stream.num_waiting_frames()));
  EXPECT_FALSE(update.is_final);
}

TEST(LiveUtterancesTest, MergedUpdatesKeepEveryUtterance) {
  const std::vector<float> samples = NoiseOfChangingLevel(60000, 46);
  const StreamOptions options = WithEndpoints(Options(4, 8));
  Recognizer recognizer(Tiny());
  const auto live = recognizer.Open(options);  // polled
  live->AcceptSamples(samples.data(), samples.size());
  live->Finish();
  while (!live->is_over()) live->WaitForUpdate(testing::kPatienceMs);
  LiveUpdate update;
  ASSERT_TRUE(live->Poll(&update));
  EXPECT_TRUE(update.is_final);
  ExpectSameUtterances(update.utterances, UtterancesOf(samples, options),
                       testing::kBatchScoreTolerance);
  EXPECT_EQ(update.stable_text, update.utterances.back().nbest.front().text);
}

TEST(LiveUtterancesTest, WrongEarlyTextIsNamed) {
  Recognizer recognizer(Tiny());
  StreamOptions options = Options(4, 8);
  options.early_text.interval = -1;
  EXPECT_THROW(recognizer.Open(options), std::invalid_argument);
  options.early_text = {1, EarlyTextOptions::kMaxPadding + 1};
  EXPECT_THROW(recognizer.Open(options), std::invalid_argument);
  options = Options(StreamOptions::kWholeUtterance, StreamOptions::kUnlimited);
  options.early_text.interval = 1;
  EXPECT_THROW(recognizer.Open(options), std::invalid_argument);
}

}  // namespace
}  // namespace runnel
