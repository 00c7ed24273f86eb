// What is between two utterances: a token that goes on, and text that is forgotten.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/stream.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::SearchByHand;
using testing::Tiny;
using testing::UtterancesOf;

int64_t FrameAt(double ms) { return std::llround(ms / 40); }

// Of a token that a rule cuts, the second part is no token.
TEST(StreamCutsTest, NoTokenIsOnBothSidesOfACut) {
  for (const SearchMethod method : {SearchMethod::kGreedy, SearchMethod::kPrefixBeam}) {
    StreamOptions options = Options(4, 8, method);
    size_t num_cuts = 0;
    size_t num_in_tokens = 0;  // cuts between two frames that emit the same token
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      const std::vector<float> samples = NoiseOfChangingLevel(64000, seed);
      options.endpoints.enabled = true;  // cut by length
      options.endpoints.rules = {{{false, 1000, 0}, {true, 1000, 0}, {false, 0, 0.6}}};
      const std::vector<Utterance> utterances = UtterancesOf(samples, options);
      num_cuts += utterances.size() - 1;
      for (size_t i = 1; i < utterances.size(); ++i) {
        const int64_t cut = FrameAt(utterances[i - 1].searched_ms);
        const int64_t begin = i > 1 ? FrameAt(utterances[i - 2].searched_ms) : 0;
        const std::vector<TokenSpan> spans = SearchByHand(samples, options, begin, cut).tokens;
        const bool ends_in_token = !spans.empty() && begin + spans.back().last_frame + 1 == cut;
        const std::vector<TokenSpan> more = SearchByHand(samples, options, begin, cut + 1).tokens;
        const TokenSpan next = more.empty() ? TokenSpan() : more.back();
        const bool goes_on = begin + next.first_frame < cut && begin + next.last_frame == cut;
        num_in_tokens += goes_on ? 1 : 0;
        const std::vector<Token>& before = utterances[i - 1].nbest[0].tokens;
        const std::vector<Token>& after = utterances[i].nbest[0].tokens;
        if (before.empty() || after.empty() || before.back().id != after.front().id) continue;
        EXPECT_FALSE(ends_in_token && after.front().frame == cut) << "utterance " << i;
      }
    }
    EXPECT_GE(num_cuts, 20U);
    EXPECT_GE(num_in_tokens, 3U);
  }
}

// A rule that ends an utterance without text begins it anew: with tokens that have no text too.
TEST(StreamCutsTest, TextBeginsWhereTheSearchForgot) {
  int num_forgotten = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    StreamOptions options = Options(1, 3);
    options.endpoints.enabled = true;
    options.endpoints.silence_blank_probability = 0.15;
    options.endpoints.rules = {{{false, 0.2, 0}, {true, 0.04, 0}, {false, 0, 0.08}}};
    const std::vector<float> samples = NoiseOfChangingLevel(16000, seed);
    Stream stream(Tiny(), options);
    int64_t begin = 0;
    std::vector<int32_t> stable;
    for (size_t at = 0; at < samples.size(); at += 640) {
      stream.AcceptSamples(samples.data() + at, 640);
      const int64_t index = stream.utterance_index();
      stream.Decode();
      EXPECT_GE(stream.text_begin(), begin);
      if (stream.text_begin() != begin) {
        num_forgotten += stream.utterance_index() == index && !stable.empty() ? 1 : 0;
        stable.clear();
      } else {
        EXPECT_EQ(stream.utterance_index(), index);
      }
      begin = stream.text_begin();
      std::vector<int32_t> ids;
      for (const Token& token : stream.TokensSince(0)) ids.push_back(token.id);
      ASSERT_GE(ids.size(), stable.size());
      EXPECT_TRUE(std::equal(stable.begin(), stable.end(), ids.begin()));
      ids.resize(stream.NumStableTokens());
      stable = ids;
    }
  }
  EXPECT_GT(num_forgotten, 0);
}

}  // namespace
}  // namespace runnel
