#include "runtime/stream/token_times.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace runnel {
namespace {

constexpr double kTimedFrameMs = 40;
constexpr double kTailOfTokenMs = 100;
constexpr int32_t kMark = 9;

std::optional<double> Tail(int32_t id) {
  return id == kMark ? std::nullopt : std::optional(kTailOfTokenMs);
}

using Pairs = std::vector<std::pair<double, double>>;

Pairs Times(const std::vector<TokenSpan>& tokens, SpokenMs within = {0, 4000}) {
  Pairs pairs;
  for (const SpokenMs& time : TimesOf(tokens, within, kTimedFrameMs, Tail)) {
    pairs.emplace_back(time.begin, time.end);
  }
  return pairs;
}

TEST(TokenTimesTest, ATokenEndsAfterItsTailOrWhereTheNextOneBegins) {
  EXPECT_EQ(Times({{1, 2, 3, 1}, {2, 6, 6, 1}, {3, 20, 20, 1}}),
            (Pairs{{80, 240}, {240, 380}, {800, 940}}));
  EXPECT_TRUE(Times({}).empty());
}

TEST(TokenTimesTest, NoTokenEndsAfterTheAudio) {
  EXPECT_EQ(Times({{1, 2, 9, 1}}, {0, 200}), (Pairs{{80, 200}}));
  // Frames of a padded subsampling lie behind the audio: their tokens begin earlier.
  EXPECT_EQ(Times({{1, 2, 2, 1}, {2, 5, 5, 1}, {3, 6, 6, 1}}, {0, 190}),
            (Pairs{{80, 170}, {170, 180}, {180, 190}}));
  EXPECT_EQ(Times({{1, 2, 2, 1}, {2, 2, 2, 1}}, {0, 15}), (Pairs{{0, 5}, {5, 15}}));  // no room
}

// After FinalizeUtterance, tokens may begin in frames of words that were handed out.
TEST(TokenTimesTest, NoTokenBeginsBeforeItsUtterance) {
  EXPECT_EQ(Times({{1, 2, 5, 1}, {2, 7, 7, 1}}, {160, 4000}), (Pairs{{160, 280}, {280, 420}}));
  EXPECT_EQ(Times({{1, 2, 2, 1}, {kMark, 3, 3, 1}, {2, 3, 5, 1}, {3, 6, 6, 1}}, {200, 4000}),
            (Pairs{{200, 200}, {200, 200}, {200, 240}, {240, 380}}));
}

TEST(TokenTimesTest, OfTokensOnOneFrameTheFirstOnesBeginEarlier) {
  EXPECT_EQ(Times({{1, 2, 2, 1}, {2, 2, 2, 1}, {3, 2, 5, 1}}),
            (Pairs{{60, 70}, {70, 80}, {80, 340}}));
}

TEST(TokenTimesTest, AMarkIsWhereTheTokenBeforeItEnds) {
  EXPECT_EQ(Times({{1, 2, 3, 1}, {kMark, 9, 12, 1}, {kMark, 14, 14, 1}, {2, 20, 20, 1}}),
            (Pairs{{80, 260}, {260, 260}, {260, 260}, {800, 940}}));
  // It does not shorten that token.
  EXPECT_EQ(Times({{1, 2, 2, 1}, {kMark, 2, 2, 1}}), (Pairs{{80, 220}, {220, 220}}));
  EXPECT_EQ(Times({{kMark, 5, 7, 1}, {kMark, 6, 6, 1}, {1, 6, 6, 1}}),
            (Pairs{{200, 240}, {240, 240}, {240, 380}}));  // the first token is where it is emitted
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
    const double begin_ms = static_cast<double>(random() % 200);
    const double end_ms = begin_ms + static_cast<double>(random() % 1000);
    const std::vector<SpokenMs> times = TimesOf(tokens, {begin_ms, end_ms}, kTimedFrameMs, Tail);
    ASSERT_EQ(times.size(), tokens.size());
    for (size_t k = 0; k < times.size(); ++k) {
      EXPECT_GE(times[k].begin, begin_ms);
      EXPECT_LE(times[k].begin, times[k].end);
      EXPECT_LE(times[k].end, k + 1 < times.size() ? times[k + 1].begin : end_ms);
      if (k > 0 && tokens[k].id == kMark) {
        EXPECT_EQ(times[k].begin, times[k - 1].end);
        EXPECT_EQ(times[k].begin, times[k].end);
      } else if (times[k].begin > begin_ms) {
        EXPECT_GE(times[k].end - times[k].begin, kLeastTokenMs);
        EXPECT_LE(times[k].begin, static_cast<double>(tokens[k].first_frame) * kTimedFrameMs);
      }
    }
  }
}

}  // namespace
}  // namespace runnel
