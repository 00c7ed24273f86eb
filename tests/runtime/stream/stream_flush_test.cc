// FinalizeUtterance at any place: joined, the utterances have the tokens of the stream without it,
// each once, and their times do not overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/model.h"
#include "runtime/stream.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Describe;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;
using testing::UtterancesOf;

constexpr size_t kFrameSamples = 640;  // of an encoder frame of the tiny model

// The utterances of a stream that FinalizeUtterance ends after each of `ends` samples.
std::vector<Utterance> CutAfter(const std::vector<size_t>& ends, const std::vector<float>& samples,
                                const StreamOptions& options,
                                const std::shared_ptr<const Model>& model = Tiny()) {
  Stream stream(model, options);
  size_t begin = 0;
  for (const size_t end : ends) {
    stream.AcceptSamples(samples.data() + begin, end - begin);
    stream.FinalizeUtterance();
    begin = end;
  }
  stream.AcceptSamples(samples.data() + begin, samples.size() - begin);
  stream.Finish();
  stream.Decode();
  return stream.TakeUtterances();
}

std::vector<int32_t> IdsOf(const std::vector<Token>& tokens) {
  std::vector<int32_t> ids;
  for (const Token& token : tokens) ids.push_back(token.id);
  return ids;
}

std::vector<int32_t> JoinedIds(const std::vector<Utterance>& utterances) {
  std::vector<int32_t> ids;
  for (const Utterance& utterance : utterances) {
    for (const Token& token : utterance.nbest[0].tokens) ids.push_back(token.id);
  }
  return ids;
}

void ExpectNoOverlap(const std::vector<Utterance>& utterances) {
  double end_ms = 0;
  double token_end_ms = 0;
  for (const Utterance& utterance : utterances) {
    for (const Token& token : utterance.nbest[0].tokens) {
      EXPECT_LE(token_end_ms, token.start_ms);
      EXPECT_LE(token.start_ms, token.end_ms);
      token_end_ms = token.end_ms;
    }
    if (utterance.nbest[0].text.empty()) continue;
    EXPECT_LE(end_ms, utterance.start_ms);
    EXPECT_LE(utterance.start_ms, utterance.end_ms);
    EXPECT_LE(utterance.end_ms, utterance.searched_ms);
    end_ms = utterance.end_ms;
  }
}

// Greedy search. Tokens are compared where the utterance that was ended has no wrong one.
TEST(StreamFlushTest, NoTokenIsLostAndNoneComesTwice) {
  size_t num_compared = 0;
  for (const int64_t chunk_size : {1, 2, 3, 4, 16}) {
    const StreamOptions options = Options(chunk_size, 8);
    const std::vector<float> samples = NoiseOfChangingLevel(32000, 12);
    const std::vector<int32_t> whole = JoinedIds(UtterancesOf(samples, options));
    for (size_t end = 1000; end < samples.size(); end += 160) {
      SCOPED_TRACE(Describe(options) + ", after " + std::to_string(end));
      const std::vector<Utterance> utterances = CutAfter({end}, samples, options);
      ExpectNoOverlap(utterances);
      const std::vector<int32_t> first = IdsOf(utterances[0].nbest[0].tokens);
      if (first.size() > whole.size() || !std::equal(first.begin(), first.end(), whole.begin())) {
        continue;
      }
      ++num_compared;
      EXPECT_EQ(JoinedIds(utterances), whole);
    }
  }
  EXPECT_GT(num_compared, 500U);
}

// The second call comes before the frames of the first one's tokens are searched again.
TEST(StreamFlushTest, TwoInOneChunkHandOutNoTokenTwice) {
  size_t num_compared = 0;
  const StreamOptions options = Options(16, 16);
  const std::vector<float> samples = NoiseOfChangingLevel(32000, 13);
  const std::vector<int32_t> whole = JoinedIds(UtterancesOf(samples, options));
  for (size_t end = 2000; end + 4 * kFrameSamples < samples.size(); end += 310) {
    SCOPED_TRACE(end);
    const std::vector<Utterance> utterances =
        CutAfter({end, end + 3 * kFrameSamples}, samples, options);
    ExpectNoOverlap(utterances);
    std::vector<int32_t> ids = JoinedIds({utterances.begin(), utterances.end() - 1});
    if (ids.size() > whole.size() || !std::equal(ids.begin(), ids.end(), whole.begin())) continue;
    ++num_compared;
    EXPECT_EQ(JoinedIds(utterances), whole);
  }
  EXPECT_GT(num_compared, 10U);
}

// A rule may hold in the frames that are searched again: a beam search may find the tokens again,
// and the copy may have skipped silence that the second one searches.
TEST(StreamFlushTest, ASecondCallWithoutSamplesHasNoEffect) {
  const auto expect_no_effect = [](const StreamOptions& options, const std::vector<float>& samples,
                                   const std::shared_ptr<const Model>& model) {
    for (size_t end = 1000; end < samples.size(); end += 490) {
      SCOPED_TRACE(Describe(options) + ", after " + std::to_string(end));
      testing::ExpectSameUtterances(CutAfter({end, end}, samples, options, model),
                                    CutAfter({end}, samples, options, model));
    }
  };
  const std::vector<float> noise = NoiseOfChangingLevel(32000, 16);
  for (const int64_t chunk_size : {1, 5, 11}) {
    for (const SearchMethod method : {SearchMethod::kGreedy, SearchMethod::kPrefixBeam}) {
      expect_no_effect(testing::WithEndpoints(Options(chunk_size, 4, method)), noise, Tiny());
    }
  }
  const std::vector<float> pauses = testing::NoiseWithPauses(32000, 16, 8000);
  for (const int64_t chunk_size : {1, 2, 4}) {
    StreamOptions options = testing::WithEndpoints(Options(chunk_size, 7));
    options.endpoints.skip_silence = true;
    options.right_context = 8;
    expect_no_effect(options, pauses, testing::Offline());
  }
}

TEST(StreamFlushTest, TimesOfBeamSearchDoNotOverlap) {
  const std::vector<float> samples = NoiseOfChangingLevel(32000, 14);
  for (const int64_t chunk_size : {1, 3, 16}) {
    StreamOptions options = Options(chunk_size, 8, SearchMethod::kPrefixBeam);
    for (const bool has_rules : {false, true}) {
      if (has_rules) options = testing::WithEndpoints(options);
      for (size_t end = 1000; end < samples.size(); end += 710) {
        SCOPED_TRACE(Describe(options) + ", after " + std::to_string(end));
        ExpectNoOverlap(CutAfter({end}, samples, options));
      }
    }
  }
}

// A snapshot holds what the next utterance needs to know of the one that was handed out.
TEST(StreamFlushTest, ASnapshotGoesOnAsTheStreamDoes) {
  const std::vector<float> samples = NoiseOfChangingLevel(32000, 15);
  for (const int64_t chunk_size : {1, 3, 16}) {
    const StreamOptions options = Options(chunk_size, 8);
    for (size_t end = 2000; end < samples.size(); end += 1500) {
      SCOPED_TRACE(Describe(options) + ", after " + std::to_string(end));
      Stream stream(Tiny(), options);
      stream.AcceptSamples(samples.data(), end);
      stream.FinalizeUtterance();
      for (size_t begin = end; begin < samples.size(); begin += kFrameSamples) {
        stream.AcceptSamples(samples.data() + begin,
                             std::min(kFrameSamples, samples.size() - begin));
        stream.Decode();
        stream = Stream::Restore(Tiny(), stream.Snapshot());
      }
      stream.Finish();
      stream.Decode();
      testing::ExpectSameUtterances(stream.TakeUtterances(), CutAfter({end}, samples, options));
    }
  }
}

}  // namespace
}  // namespace runnel
