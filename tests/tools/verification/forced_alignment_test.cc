// Forced alignment against a search over all paths of small cases.
#include "tools/verification/forced_alignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/error_message.h"

namespace runnel {
namespace {

using testing::ErrorMessage;

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// The tokens that a path emits: repeats collapsed, blanks dropped.
std::vector<int32_t> Collapse(const std::vector<int32_t>& path, int32_t blank_id) {
  std::vector<int32_t> ids;
  for (size_t frame = 0; frame < path.size(); ++frame) {
    if (path[frame] == blank_id) continue;
    if (frame == 0 || path[frame] != path[frame - 1]) ids.push_back(path[frame]);
  }
  return ids;
}

double ScoreOf(const CtcOutput& output, const std::vector<int32_t>& path) {
  double score = 0;
  for (size_t frame = 0; frame < path.size(); ++frame) {
    score += output.log_probs[static_cast<int64_t>(frame) * output.vocab_size + path[frame]];
  }
  return score;
}

// The score of the best of all vocab_size ^ num_frames paths that emit `ids`.
double BestScore(const CtcOutput& output, const std::vector<int32_t>& ids) {
  std::vector<int32_t> path(static_cast<size_t>(output.num_frames), 0);
  double best = kImpossible;
  for (bool is_last = false; !is_last;) {
    if (Collapse(path, output.blank_id) == ids) best = std::max(best, ScoreOf(output, path));
    is_last = true;
    for (int32_t& id : path) {
      id = (id + 1) % output.vocab_size;
      if (id == 0) continue;
      is_last = false;
      break;
    }
  }
  return best;
}

std::vector<int32_t> PathOf(const ForcedAlignment& alignment, const std::vector<int32_t>& ids,
                            const CtcOutput& output) {
  std::vector<int32_t> path(static_cast<size_t>(output.num_frames), output.blank_id);
  for (size_t i = 0; i < ids.size(); ++i) {
    const AlignedToken& token = alignment.tokens.at(i);
    for (int64_t frame = token.first_frame; frame <= token.last_frame; ++frame) {
      EXPECT_EQ(path.at(static_cast<size_t>(frame)), output.blank_id) << "two tokens in a frame";
      path.at(static_cast<size_t>(frame)) = ids[i];
    }
  }
  return path;
}

TEST(ForcedAlignmentTest, FindsTheBestOfAllPaths) {
  int num_aligned = 0;
  int num_impossible = 0;
  for (unsigned seed = 1; seed <= 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    CtcOutput output;
    output.num_frames = static_cast<int64_t>(random() % 8);
    output.vocab_size = 2 + static_cast<int>(random() % 3);
    output.blank_id = static_cast<int32_t>(random() % static_cast<unsigned>(output.vocab_size));
    std::uniform_real_distribution<float> log_prob(-5, 0);
    std::vector<float> log_probs;
    for (int64_t i = 0; i < output.num_frames * output.vocab_size; ++i) {
      const bool is_zero = random() % 8 == 0;
      log_probs.push_back(is_zero ? -std::numeric_limits<float>::infinity() : log_prob(random));
    }
    output.log_probs = log_probs.data();
    std::vector<int32_t> ids(random() % 5);
    for (int32_t& id : ids) {
      const auto shift = 1 + random() % static_cast<unsigned>(output.vocab_size - 1);
      id = (output.blank_id + static_cast<int32_t>(shift)) % output.vocab_size;
    }

    const double best = BestScore(output, ids);
    const auto alignment = AlignTokens(output, ids);
    ASSERT_EQ(alignment.has_value(), best > kImpossible);
    ++(alignment ? num_aligned : num_impossible);
    if (!alignment) continue;
    EXPECT_NEAR(alignment->log_prob, best, 1e-9);
    ASSERT_EQ(alignment->tokens.size(), ids.size());
    const std::vector<int32_t> path = PathOf(*alignment, ids, output);
    EXPECT_EQ(Collapse(path, output.blank_id), ids);
    EXPECT_NEAR(ScoreOf(output, path), best, 1e-9);
  }
  EXPECT_GT(num_aligned, 100);
  EXPECT_GT(num_impossible, 100);
}

TEST(ForcedAlignmentTest, NeedsAFrameForEachTokenAndABlankBetweenRepeats) {
  EXPECT_EQ(MinFramesToAlign({}), 0);
  EXPECT_EQ(MinFramesToAlign({1, 2, 1}), 3);
  EXPECT_EQ(MinFramesToAlign({1, 1, 1}), 5);
  EXPECT_EQ(MinFramesToAlign({1, 1, 2, 2}), 6);
  for (const std::vector<int32_t>& ids :
       {std::vector<int32_t>{}, {1}, {1, 2, 1}, {1, 1, 1}, {1, 1, 2, 2}}) {
    const int64_t needed = MinFramesToAlign(ids);
    for (int64_t num_frames = 0; num_frames <= 8; ++num_frames) {
      const std::vector<float> log_probs(static_cast<size_t>(num_frames * 3), -1.0F);
      EXPECT_EQ(AlignTokens({log_probs.data(), num_frames, 3, 0}, ids).has_value(),
                num_frames >= needed)
          << num_frames << " frames, " << needed << " needed";
    }
  }
}

TEST(ForcedAlignmentTest, SpansAreThoseOfTheFramesThatEmit) {
  // Frames: blank, 1, 1, blank, 1, 2.
  constexpr float kLow = -9;
  const std::vector<float> log_probs = {0, kLow, kLow, kLow, 0, kLow, kLow, 0,    kLow,
                                        0, kLow, kLow, kLow, 0, kLow, kLow, kLow, 0};
  const auto alignment = AlignTokens({log_probs.data(), 6, 3, 0}, {1, 1, 2});
  ASSERT_TRUE(alignment);
  EXPECT_EQ(alignment->log_prob, 0);
  const std::vector<std::pair<int64_t, int64_t>> expected = {{1, 2}, {4, 4}, {5, 5}};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(alignment->tokens[i].first_frame, expected[i].first);
    EXPECT_EQ(alignment->tokens[i].last_frame, expected[i].second);
  }
}

TEST(ForcedAlignmentTest, RefusesTheBlankAndIdsOutOfRange) {
  const std::vector<float> log_probs(12, -1.0F);
  for (const int32_t id : {-1, 2, 3}) {
    EXPECT_EQ(
        ErrorMessage<std::invalid_argument>([&] {
          AlignTokens({log_probs.data(), 4, 3, 2}, {0, id});
        }),
        "token id to align is " + std::to_string(id) + ", expected 0 to 2 but not the blank, 2");
  }
}

}  // namespace
}  // namespace runnel
