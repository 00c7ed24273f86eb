// The state of a transducer's stream: copies, snapshots, utterances, previews, memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model.h"
#include "runtime/stream.h"
#include "tests/support/forged_counters.h"
#include "tests/support/random_audio.h"
#include "tests/support/random_heads.h"
#include "tests/support/random_operations.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::AllHeads;
using testing::AllOptions;
using testing::DescribeSearch;
using testing::ExpectSameUtterances;
using testing::Heads;
using testing::ModelWith;
using testing::NameOf;
using testing::NoiseOfChangingLevel;
using testing::UtterancesOf;

TEST(TransducerStateTest, RandomOperationsCopiesAndSnapshotsChangeNothing) {
  size_t num_utterances = 0;
  for (const Heads heads : AllHeads()) {
    const std::shared_ptr<const Model> model = ModelWith(heads);
    for (StreamOptions options : AllOptions(*model)) {
      for (uint64_t seed = 1; seed <= 2; ++seed) {
        options.endpoints.skip_silence = options.endpoints.enabled && seed == 2;
        options.sample_rate_hz = seed == 2 ? 8000 : 16000;
        SCOPED_TRACE(NameOf(heads) + ", " + DescribeSearch(options) + ", seed " +
                     std::to_string(seed));
        std::mt19937_64 random(seed);
        num_utterances += testing::OperateAtRandom(model, options, &random).size();
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GE(num_utterances, 500U);
}

// A token may end after the frames that are searched.
TEST(TransducerStateTest, HugeCountersAreRefusedOrHarmless) {
  const std::vector<float> samples = NoiseOfChangingLevel(20000, 42);
  const std::shared_ptr<const Model> model = ModelWith(Heads::kTdt);
  for (const SearchMethod method : {SearchMethod::kGreedy, SearchMethod::kPrefixBeam}) {
    Stream stream(model, testing::Options(2, 1, method));
    stream.AcceptSamples(samples.data(), samples.size());
    stream.FinalizeUtterance();
    stream.AcceptSamples(samples.data(), 9000);
    stream.Decode();
    EXPECT_GT(testing::RefusedCounters(model, stream), 100);
  }
}

// A snapshot between the first and the last frame of a token, whose duration crosses the end of the
// chunk.
TEST(TransducerStateTest, SnapshotsWithinATdtTokenContinueTheSame) {
  const std::shared_ptr<const Model> model = ModelWith(Heads::kTdt);
  const std::vector<float> samples = NoiseOfChangingLevel(48000, 41);
  for (const SearchMethod method : {SearchMethod::kGreedy, SearchMethod::kPrefixBeam}) {
    const StreamOptions options = testing::Options(1, 8, method);
    SCOPED_TRACE(DescribeSearch(options));
    const std::vector<Utterance> expected = UtterancesOf(samples, options, model);
    Stream stream(model, options);
    stream.AcceptSamples(samples.data(), samples.size());
    stream.Finish();
    int num_within = 0;
    while (DecodeChunks({&stream}) > 0) {
      const std::vector<Token> tokens = stream.TokensSince(0);
      const std::vector<Token>& all = expected.front().nbest.front().tokens;
      const size_t last = tokens.size() - 1;
      if (stream.IsFinal() || tokens.empty() || last >= all.size()) continue;
      const double decoded_ms = stream.EndOfFramesMs(stream.num_encoder_frames());
      EXPECT_LE(tokens[last].end_ms, decoded_ms);
      if (all[last].frame != tokens[last].frame || all[last].end_ms <= decoded_ms) continue;
      ++num_within;
      Stream restored = Stream::Restore(model, stream.Snapshot());
      restored.Decode();
      ExpectSameUtterances(restored.TakeUtterances(), expected);
      Stream cut = stream;
      cut.FinalizeUtterance();
      for (const Utterance& utterance : cut.TakeUtterances()) {
        EXPECT_LE(utterance.end_ms, utterance.searched_ms);
      }
    }
    EXPECT_GE(num_within, 5);
    ExpectSameUtterances(stream.TakeUtterances(), expected);
  }
}

// Of the copies that FinalizeUtterance needs, all in one batch.
TEST(TransducerStateTest, UtterancesAreFinalizedInABatchAsEachAlone) {
  std::mt19937_64 random(42);
  for (const Heads heads : AllHeads()) {
    const std::shared_ptr<const Model> model = ModelWith(heads);
    std::vector<Stream> streams;
    std::vector<Stream> finished;
    for (const StreamOptions& options : AllOptions(*model)) {
      const std::vector<float> samples = NoiseOfChangingLevel(20000 + random() % 20000, random());
      streams.emplace_back(model, options);
      streams.back().AcceptSamples(samples.data(), samples.size());
      streams.back().Decode();
      finished.push_back(streams.back());
      finished.back().Finish();
    }
    std::vector<Stream*> together;
    for (Stream& stream : finished) together.push_back(&stream);
    while (DecodeChunks(together) > 0) {
    }
    const std::vector<float> rest = NoiseOfChangingLevel(20000, random());
    for (size_t i = 0; i < streams.size(); ++i) {
      SCOPED_TRACE(NameOf(heads) + ", " + DescribeSearch(streams[i].options()));
      Stream alone = streams[i];
      alone.FinalizeUtterance();
      std::vector<Utterance> at_the_end = Stream(finished[i]).TakeUtterances();
      streams[i].FinalizeUtterance(std::move(finished[i]));
      const std::vector<Utterance> ended = streams[i].TakeUtterances();
      ExpectSameUtterances(alone.TakeUtterances(), ended);
      // The end of the audio gives the same, except that it ends an utterance without a frame too.
      ASSERT_LE(ended.size(), at_the_end.size());
      if (ended.size() < at_the_end.size()) {
        EXPECT_EQ(at_the_end.back().nbest.at(0).text, "");
        at_the_end.pop_back();
      } else {
        at_the_end.back().end = UtteranceEnd::kFinalize;
      }
      ExpectSameUtterances(ended, at_the_end);
      for (Stream* stream : {&alone, &streams[i]}) {
        stream->AcceptSamples(rest.data(), rest.size());
        stream->Finish();
        stream->Decode();
      }
      ExpectSameUtterances(alone.TakeUtterances(), streams[i].TakeUtterances());
    }
  }
}

TEST(TransducerStateTest, TheStateOfALongStreamDoesNotGrow) {
  constexpr size_t kSecond = 16000;
  constexpr size_t kSeconds = 60;
  const std::vector<float> samples = NoiseOfChangingLevel(kSeconds * kSecond, 43);
  for (const Heads heads : AllHeads()) {
    const std::shared_ptr<const Model> model = ModelWith(heads);
    for (const StreamOptions& options : AllOptions(*model)) {
      if (!options.endpoints.enabled) continue;
      SCOPED_TRACE(NameOf(heads) + ", " + DescribeSearch(options));
      Stream stream(model, options);
      size_t early = 0;
      size_t late = 0;
      size_t num_tokens = 0;
      for (size_t second = 0; second < kSeconds; ++second) {
        stream.AcceptSamples(samples.data() + second * kSecond, kSecond);
        stream.Decode();
        for (const Utterance& utterance : stream.TakeUtterances()) {
          num_tokens += utterance.nbest.front().tokens.size();
        }
        size_t& most = second < kSeconds / 3 ? early : late;
        most = std::max(most, stream.Snapshot().size());
      }
      EXPECT_LE(late, early + early / 4);
      EXPECT_GE(num_tokens, kSeconds / 3);
    }
  }
}

}  // namespace
}  // namespace runnel
