// Seeded frames of log probabilities, and exact answers for short sequences by enumeration.
#ifndef RUNNEL_TESTS_RUNTIME_SEARCH_SEARCH_TEST_SUPPORT_H_
#define RUNNEL_TESTS_RUNTIME_SEARCH_SEARCH_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/search/ctc_search.h"

namespace runnel {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// (num_frames, vocab_size). `sharpness`: standard deviation of the logits; 0.5 is nearly flat, 10
// nearly one-hot. Added to the logit of `favoured`, if any: `bonus`.
inline std::vector<float> RandomLogProbs(std::mt19937* random, int64_t num_frames, int vocab_size,
                                         float sharpness, int favoured = -1, float bonus = 0) {
  std::normal_distribution<float> logit(0, sharpness);
  std::vector<float> values(static_cast<size_t>(num_frames * vocab_size));
  for (int64_t t = 0; t < num_frames; ++t) {
    float* frame = values.data() + t * vocab_size;
    double sum = 0;
    for (int id = 0; id < vocab_size; ++id) {
      frame[id] = logit(*random) + (id == favoured ? bonus : 0);
      sum += std::exp(static_cast<double>(frame[id]));
    }
    for (int id = 0; id < vocab_size; ++id) frame[id] -= static_cast<float>(std::log(sum));
  }
  return values;
}

// Gives `values` to `search` in pieces of random sizes, empty ones included.
inline void AdvanceInPieces(std::mt19937* random, const std::vector<float>& values, int vocab_size,
                            CtcSearch* search) {
  const int64_t num_frames = static_cast<int64_t>(values.size()) / vocab_size;
  for (int64_t done = 0; done < num_frames;) {
    std::uniform_int_distribution<int64_t> size(0, std::min<int64_t>(num_frames - done, 9));
    const int64_t piece = size(*random);
    search->Advance(values.data() + done * vocab_size, piece);
    done += piece;
  }
}

inline std::vector<int32_t> Ids(const TokenSequence& sequence) {
  std::vector<int32_t> ids;
  for (const TokenSpan& token : sequence.tokens) ids.push_back(token.id);
  return ids;
}

// Bit for bit.
inline void ExpectSame(const std::vector<TokenSequence>& a, const std::vector<TokenSequence>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE("sequence " + std::to_string(i));
    EXPECT_EQ(a[i].score, b[i].score);
    ASSERT_EQ(Ids(a[i]), Ids(b[i]));
    for (size_t k = 0; k < a[i].tokens.size(); ++k) {
      EXPECT_EQ(a[i].tokens[k].first_frame, b[i].tokens[k].first_frame);
      EXPECT_EQ(a[i].tokens[k].last_frame, b[i].tokens[k].last_frame);
      EXPECT_EQ(a[i].tokens[k].confidence, b[i].tokens[k].confidence);
    }
  }
}

// Spans in order, within the stream, without overlap, and with a frame between equal tokens.
inline void ExpectOrderedSpans(const TokenSequence& sequence, int64_t num_frames) {
  const TokenSpan* before = nullptr;
  for (const TokenSpan& token : sequence.tokens) {
    EXPECT_GE(token.first_frame, 0);
    EXPECT_LE(token.first_frame, token.last_frame);
    EXPECT_LT(token.last_frame, num_frames);
    EXPECT_GE(token.confidence, 0);
    EXPECT_LE(token.confidence, 1);
    if (before != nullptr) {
      const int64_t gap = before->id == token.id ? 2 : 1;
      EXPECT_GE(token.first_frame, before->last_frame + gap);
    }
    before = &token;
  }
}

// Advances `search` frame by frame over `values`, then finishes it. Checks that stable tokens stay,
// and that all sequences begin with exactly these. The beam must be narrower than 1000.
inline void ExpectStableIdsStay(const std::vector<float>& values, int vocab_size,
                                CtcSearch* search) {
  const int64_t num_frames = static_cast<int64_t>(values.size()) / vocab_size;
  std::vector<int32_t> stable;
  for (int64_t t = 0; t <= num_frames; ++t) {
    if (t < num_frames) {
      search->Advance(values.data() + t * vocab_size, 1);
    } else {
      search->Finish();
    }
    std::vector<int32_t> common = search->BestIds();
    for (const TokenSequence& sequence : search->NBest(1000)) {
      const std::vector<int32_t> ids = Ids(sequence);
      common.erase(std::mismatch(common.begin(), common.end(), ids.begin(), ids.end()).first,
                   common.end());
    }
    ASSERT_EQ(search->NumStableIds(), common.size()) << "frame " << t;
    ASSERT_GE(common.size(), stable.size()) << "frame " << t;
    ASSERT_TRUE(std::equal(stable.begin(), stable.end(), common.begin())) << "frame " << t;
    stable = common;
  }
  EXPECT_GT(stable.size(), 0U);
}

// Calls visit(path, log probability) for each of the vocab_size^num_frames alignments.
template <typename Visitor>
void ForEachAlignment(const std::vector<float>& values, int vocab_size, Visitor visit) {
  const size_t num_frames = values.size() / static_cast<size_t>(vocab_size);
  std::vector<int32_t> path(num_frames, 0);
  while (true) {
    double score = 0;
    for (size_t t = 0; t < num_frames; ++t) {
      score += values[t * static_cast<size_t>(vocab_size) + static_cast<size_t>(path[t])];
    }
    visit(path, score);
    size_t t = 0;
    while (t < num_frames && ++path[t] == vocab_size) path[t++] = 0;
    if (t == num_frames) return;
  }
}

// Repeats collapsed, blanks dropped. Confidences from `values`.
inline std::vector<TokenSpan> Collapse(const std::vector<int32_t>& path,
                                       const std::vector<float>& values, int vocab_size,
                                       int blank_id) {
  std::vector<TokenSpan> tokens;
  for (size_t t = 0; t < path.size(); ++t) {
    if (path[t] == blank_id) continue;
    const auto frame = static_cast<int64_t>(t);
    if (t == 0 || path[t] != path[t - 1]) tokens.push_back({path[t], frame, frame, 0});
    tokens.back().last_frame = frame;
    const float log_prob =
        values[t * static_cast<size_t>(vocab_size) + static_cast<size_t>(path[t])];
    tokens.back().confidence = std::max(tokens.back().confidence, std::exp(log_prob));
  }
  return tokens;
}

struct ExactLabelling {
  double probability = 0;              // summed over alignments
  double best_score = kMinusInfinity;  // log probability of the best alignment
  std::vector<TokenSpan> best_spans;   // its tokens
};

inline std::map<std::vector<int32_t>, ExactLabelling> EnumerateLabellings(
    const std::vector<float>& values, int vocab_size, int blank_id) {
  std::map<std::vector<int32_t>, ExactLabelling> labellings;
  ForEachAlignment(values, vocab_size, [&](const std::vector<int32_t>& path, double score) {
    const std::vector<TokenSpan> spans = Collapse(path, values, vocab_size, blank_id);
    ExactLabelling& labelling = labellings[Ids({spans, 0})];
    labelling.probability += std::exp(score);
    if (score > labelling.best_score) {
      labelling.best_score = score;
      labelling.best_spans = spans;
    }
  });
  return labellings;
}

}  // namespace runnel

#endif  // RUNNEL_TESTS_RUNTIME_SEARCH_SEARCH_TEST_SUPPORT_H_
