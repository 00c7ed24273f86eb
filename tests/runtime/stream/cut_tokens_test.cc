#include "runtime/stream/cut_tokens.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/search/ctc_search.h"
#include "runtime/search/greedy_search.h"

namespace runnel {
namespace {

constexpr int32_t kBlank = 0;
constexpr int kVocabSize = 27;

int32_t IdOf(char letter) { return letter == '-' ? kBlank : letter - 'a' + 1; }

// A character is a frame; '-' is the blank. The letters of `handed_out` are tokens that begin
// there.
CutTokens HandedOut(const std::string& handed_out) {
  std::vector<TokenSpan> tokens;
  for (size_t t = 0; t < handed_out.size(); ++t) {
    const auto frame = static_cast<int64_t>(t);
    if (handed_out[t] != '-') tokens.push_back({IdOf(handed_out[t]), frame, frame, 1});
  }
  CutTokens cut;
  cut.Add(tokens);
  return cut;
}

// The tokens that a greedy search finds after `cut` in frames that come chunk by chunk, as a stream
// gives them to it.
std::string TokensAfter(CutTokens cut, const std::string& frames, size_t chunk_size,
                        int32_t token_before = CtcSearch::kNoToken) {
  CtcGreedySearch search(kVocabSize, kBlank);
  search.StartUtteranceAfter(token_before, 0);
  for (size_t begin = 0; begin < frames.size(); begin += chunk_size) {
    const auto end = static_cast<int64_t>(std::min(frames.size(), begin + chunk_size));
    if (!cut.empty() && search.num_frames() < end) {
      std::vector<int32_t> ids;
      for (int64_t t = search.num_frames(); t < std::min(end, cut.end_frame()); ++t) {
        ids.push_back(IdOf(frames[static_cast<size_t>(t)]));
      }
      const std::optional<CutTokens::Place> place =
          cut.Pass(ids, kBlank, {search.num_frames(), search.TokenOfLastFrame()});
      if (place) search.StartUtteranceAfter(place->token_before, place->frame);
    }
    while (search.num_frames() < end) {
      std::vector<float> log_probs(kVocabSize, -10);
      log_probs[static_cast<size_t>(IdOf(frames[static_cast<size_t>(search.num_frames())]))] = 0;
      search.Advance(log_probs.data(), 1);
    }
    if (!search.BestIds().empty()) cut.Clear();
  }
  std::string letters;
  for (const int32_t id : search.BestIds()) letters += static_cast<char>('a' + id - 1);
  return letters;
}

struct Case {
  std::string handed_out;
  std::string frames;
  std::string next;
};

TEST(CutTokensTest, TheNextUtteranceBeginsWithTheFirstTokenThatWasNotHandedOut) {
  for (const Case& one : std::vector<Case>{
           {"----a", "----aa--b--", "b"},   // where it was
           {"----a", "-aa-----b--", "b"},   // three frames earlier
           {"----a", "-------aa-b", "b"},   // three frames later
           {"----a", "--------a-b", "ab"},  // too far away: another one
           {"----a", "a-------b--", "b"},   // what is before belongs to the utterance
           {"----a", "-----b-----", "b"},   // not found
           {"----a", "-----b-a---", "ba"},  // after another token: another one
           {"----a", "----a-a-b--", "ab"},  // two: a blank parts them
           {"----a", "--a-a-b----", "ab"},  // the first of two
           {"--a-a", "--a-a-b----", "b"},   // both of two
           {"--a-a", "---a-a-b---", "b"},   // a frame later
           {"--a-a", "-----a-a-b-", "b"},   // three frames later
           {"-aba-", "-aba-------", ""},    //
           {"-aba-", "--a-b-a-c--", "c"},   // each later than the one before
           {"-ab--", "-aaab-c----", "c"},   //
           {"-ab--", "--------c--", "c"},   // none found
           {"--ab-", "--abbbbb-bc", "bc"},  //
       }) {
    for (const size_t chunk_size : {1, 2, 3, 4, 16}) {
      SCOPED_TRACE(one.handed_out + ", " + one.frames + ", chunks of " +
                   std::to_string(chunk_size));
      CutTokens cut = HandedOut(one.handed_out);
      EXPECT_EQ(TokensAfter(cut, one.frames, chunk_size), one.next);
    }
  }
}

// The token of the frames before, which was handed out earlier, may go on.
TEST(CutTokensTest, ATokenThatGoesOnIsNoFurtherOne) {
  for (const size_t chunk_size : {1, 2, 3, 16}) {
    SCOPED_TRACE(chunk_size);
    EXPECT_EQ(TokensAfter(HandedOut("---a"), "aa-a-b", chunk_size, IdOf('a')), "b");
    EXPECT_EQ(TokensAfter(HandedOut("-b"), "aaab-c", chunk_size, IdOf('a')), "c");
  }
}

TEST(CutTokensTest, TokensOfASecondUtteranceFollow) {
  CutTokens cut = HandedOut("--a");
  cut.Add({{IdOf('b'), 1, 1, 1}, {IdOf('c'), 4, 4, 1}});  // found when `a` had moved to frame 0
  EXPECT_EQ(cut.Inconsistency(5, kVocabSize, kBlank), "");
  EXPECT_EQ(TokensAfter(cut, "a-b-c-d", 1), "d");
  EXPECT_EQ(TokensAfter(cut, "--a-b-c-d", 2), "d");
}

}  // namespace
}  // namespace runnel
