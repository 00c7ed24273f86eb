#include "runtime/stream/token_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace runnel {
namespace {

constexpr int32_t kMark = 9;

bool IsMark(int32_t id) { return id == kMark; }

std::vector<std::pair<int64_t, int64_t>> Frames(const std::vector<TokenSpan>& tokens,
                                                SpokenFrames within = {0, 100}) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (const SpokenFrames& frames : FramesOf(tokens, within, IsMark)) {
    pairs.emplace_back(frames.begin, frames.end);
  }
  return pairs;
}

using Pairs = std::vector<std::pair<int64_t, int64_t>>;

TEST(TokenTimesTest, ATokenEndsAfterItsLastFrame) {
  EXPECT_EQ(Frames({{1, 2, 3, 1}, {2, 6, 6, 1}}), (Pairs{{2, 4}, {6, 7}}));
  EXPECT_EQ(Frames({{1, 2, 9, 1}}, {0, 5}), (Pairs{{2, 5}}));  // a duration beyond the utterance
  EXPECT_TRUE(Frames({}).empty());
}

// After FinalizeUtterance, tokens may begin in frames of words that were handed out.
TEST(TokenTimesTest, FramesBeforeTheFirstOneAreLeftOut) {
  EXPECT_EQ(Frames({{1, 2, 5, 1}, {2, 7, 7, 1}}, {4, 100}), (Pairs{{4, 6}, {7, 8}}));
  EXPECT_EQ(Frames({{1, 2, 2, 1}, {kMark, 3, 3, 1}, {2, 3, 5, 1}, {3, 6, 6, 1}}, {5, 100}),
            (Pairs{{5, 5}, {5, 5}, {5, 6}, {6, 7}}));
}

TEST(TokenTimesTest, OfTokensOnOneFrameTheLastOneHasADuration) {
  EXPECT_EQ(Frames({{1, 2, 2, 1}, {2, 2, 2, 1}, {3, 2, 5, 1}}), (Pairs{{2, 2}, {2, 2}, {2, 6}}));
}

TEST(TokenTimesTest, AMarkIsWhereTheTokenBeforeItEnds) {
  EXPECT_EQ(Frames({{1, 2, 3, 1}, {kMark, 9, 12, 1}, {kMark, 14, 14, 1}, {2, 20, 20, 1}}),
            (Pairs{{2, 4}, {4, 4}, {4, 4}, {20, 21}}));
  // It does not shorten that token.
  EXPECT_EQ(Frames({{1, 2, 2, 1}, {kMark, 2, 2, 1}}), (Pairs{{2, 3}, {3, 3}}));
  EXPECT_EQ(Frames({{kMark, 5, 7, 1}, {kMark, 6, 6, 1}, {1, 6, 6, 1}}),
            (Pairs{{5, 6}, {6, 6}, {6, 7}}));  // the first token is where it is emitted
}

TEST(TokenTimesTest, NoTokensOverlap) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::vector<TokenSpan> tokens;
    int64_t frame = 0;
    for (size_t n = random() % 12; n > 0; --n) {
      frame += static_cast<int64_t>(random() % 4);
      tokens.push_back(
          {random() % 3 == 0 ? kMark : 1, frame, frame + static_cast<int64_t>(random() % 5), 1});
    }
    const int64_t end_frame = frame + 1;
    const int64_t begin_frame = static_cast<int64_t>(random() % 4);
    if (begin_frame > end_frame) continue;
    const std::vector<SpokenFrames> frames = FramesOf(tokens, {begin_frame, end_frame}, IsMark);
    ASSERT_EQ(frames.size(), tokens.size());
    for (size_t k = 0; k < frames.size(); ++k) {
      EXPECT_LE(frames[k].begin, frames[k].end);
      EXPECT_LE(frames[k].end, k + 1 < frames.size() ? frames[k + 1].begin : end_frame);
      if (k == 0 || !IsMark(tokens[k].id)) {
        EXPECT_EQ(frames[k].begin, std::max(tokens[k].first_frame, begin_frame));
      } else {
        EXPECT_EQ(frames[k].begin, frames[k - 1].end);
        EXPECT_EQ(frames[k].begin, frames[k].end);
      }
    }
  }
}

}  // namespace
}  // namespace runnel
