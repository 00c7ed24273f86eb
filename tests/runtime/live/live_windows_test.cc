// Live streams of an offline model: windows by default, with the results of Stream, whatever
// packets, threads and batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/recognizer.h"
#include "tests/support/live_client.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Follower;
using testing::NoiseOfChangingLevel;
using testing::Offline;

RecognizerOptions TwoThreads() {
  RecognizerOptions options;
  options.num_threads = 2;
  return options;
}

std::string TextOfStream(const std::vector<float>& samples, const StreamOptions& options) {
  Stream stream(Offline(), options);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  stream.Decode();
  return stream.Text();
}

StreamOptions Windows(int64_t chunk_size, int64_t left_context, int64_t right_context) {
  StreamOptions options = testing::Options(chunk_size, left_context);
  options.right_context = right_context;
  return options;
}

StreamOptions Cached(int64_t chunk_size, int64_t left_context, int64_t right_context) {
  StreamOptions options = Windows(chunk_size, left_context, right_context);
  options.cached_windows = true;
  return options;
}

TEST(LiveWindowsTest, AreTheDefaultOfAnOfflineModel) {
  Recognizer recognizer(Offline(), TwoThreads());
  const std::vector<float> samples = NoiseOfChangingLevel(64000, 1);
  std::mt19937_64 random(1);
  Follower follower;
  const auto stream = recognizer.Open({}, follower.Callback());
  EXPECT_EQ(stream->options().chunk_size, 16);
  EXPECT_EQ(stream->options().left_context, 128);
  EXPECT_EQ(stream->options().right_context, 16);
  testing::Send(stream.get(), samples, 3000, &random);
  stream->Finish();
  const LiveUpdate last = follower.Final();
  EXPECT_EQ(last.error, "");
  EXPECT_EQ(last.utterances.at(0).nbest.at(0).text, TextOfStream(samples, {}));
  EXPECT_GE(follower.num_updates(), 5);
}

TEST(LiveWindowsTest, ManyStreamsHaveTheResultsOfStream) {
  const std::vector<StreamOptions> sizes = {
      Windows(1, 8, 3),   Windows(4, 0, 0),         Windows(4, 20, 7), Windows(16, 40, 16),
      Windows(8, 30, 16), testing::Options(-1, -1), Cached(4, 20, 7),  Cached(8, 100, 16)};
  constexpr uint64_t kSeed = 7;
  std::mt19937_64 random(kSeed);
  Recognizer recognizer(Offline(), TwoThreads());
  struct Connected {
    StreamOptions options;
    std::vector<float> samples;
    std::unique_ptr<Follower> follower = std::make_unique<Follower>();
    std::shared_ptr<LiveStream> stream = nullptr;
  };
  std::vector<Connected> clients;
  for (size_t i = 0; i < 3 * sizes.size(); ++i) {
    Connected client{sizes[i % sizes.size()], NoiseOfChangingLevel(20000 + 1500 * i, i)};
    if (i % 3 == 1) client.options.early_text = {3, 2};
    if (client.options.chunk_size == testing::kWhole) client.options.early_text = {};
    client.stream = recognizer.Open(client.options, client.follower->Callback());
    clients.push_back(std::move(client));
  }
  for (Connected& client : clients) {
    testing::Send(client.stream.get(), client.samples, 4000, &random);
    client.stream->Finish();
  }
  for (Connected& client : clients) {
    SCOPED_TRACE(testing::Describe(client.options));
    const LiveUpdate last = client.follower->Final();
    EXPECT_EQ(last.error, "");
    EXPECT_EQ(last.utterances.at(0).nbest.at(0).text, TextOfStream(client.samples, client.options));
  }
}

// Previews show the frames that wait for their right context.
TEST(LiveWindowsTest, EarlyTextBeforeTheFirstWindow) {
  Recognizer recognizer(Offline(), TwoThreads());
  const std::vector<float> samples = NoiseOfChangingLevel(24000, 3);
  StreamOptions options = Windows(16, 40, 32);
  options.early_text = {4, 2};
  const auto stream = recognizer.Open(options);
  stream->AcceptSamples(samples.data(), samples.size());  // 36 encoder frames, of 48 for a window
  LiveUpdate update;
  ASSERT_TRUE(stream->WaitForUpdate(testing::kPatienceMs));
  ASSERT_TRUE(stream->Poll(&update));
  EXPECT_EQ(update.stable_text, "");
  EXPECT_GE(update.tentative_text.size(), 3U);
  EXPECT_EQ(update.audio_ms, 36 * 40);
  stream->Finish();
}

class LiveWindowKindsTest : public ::testing::TestWithParam<StreamOptions> {};

INSTANTIATE_TEST_SUITE_P(ExactAndCached, LiveWindowKindsTest,
                         ::testing::Values(Windows(8, 30, 16), Cached(8, 30, 16)));

TEST_P(LiveWindowKindsTest, FinalizedUtterancesAndSnapshots) {
  Recognizer recognizer(Offline(), TwoThreads());
  const std::vector<float> samples = NoiseOfChangingLevel(60000, 4);
  const StreamOptions& options = GetParam();
  Stream expected(Offline(), options);
  expected.AcceptSamples(samples.data(), 30000);
  expected.FinalizeUtterance();
  expected.AcceptSamples(samples.data() + 30000, 30000);
  expected.Finish();
  expected.Decode();
  const auto stream = recognizer.Open(options);
  stream->AcceptSamples(samples.data(), 30000);
  stream->FinalizeUtterance();
  int64_t first_utterance = 0;
  const std::shared_ptr<LiveStream> restored =
      recognizer.Restore(stream->Snapshot(&first_utterance));
  restored->AcceptSamples(samples.data() + 30000, 30000);
  restored->Finish();
  std::vector<Utterance> utterances;
  LiveUpdate update;
  // The stream may have ended its first utterance before the snapshot.
  while (static_cast<int64_t>(utterances.size()) < first_utterance) {
    ASSERT_TRUE(stream->WaitForUpdate(testing::kPatienceMs));
    if (stream->Poll(&update)) testing::Append(&utterances, update.utterances);
  }
  while (restored->WaitForUpdate(testing::kPatienceMs)) {
    if (!restored->Poll(&update)) break;
    testing::Append(&utterances, update.utterances);
  }
  testing::ExpectSameUtterances(utterances, expected.TakeUtterances());
}

}  // namespace
}  // namespace runnel
