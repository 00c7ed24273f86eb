#include "tools/verification/token_matching.h"

#include <algorithm>
#include <cmath>

namespace runnel {
namespace {

enum Step : uint8_t { kInsertion, kDeletion, kPair };

// Ordered by edits, then by distance.
struct Cost {
  int64_t edits = 0;
  double distance_ms = 0;  // sum over the pairs, equal or not

  bool operator<(const Cost& other) const {
    return edits != other.edits ? edits < other.edits : distance_ms < other.distance_ms;
  }
};

}  // namespace

std::vector<std::pair<size_t, size_t>> MatchTokens(const std::vector<TimedToken>& found,
                                                   const std::vector<TimedToken>& reference) {
  const size_t width = reference.size() + 1;
  std::vector<Step> steps((found.size() + 1) * width);
  // costs[j] is that of the first i tokens of `found` and the first j of `reference`.
  std::vector<Cost> costs(width);
  for (size_t j = 1; j < width; ++j) {
    costs[j].edits = static_cast<int64_t>(j);
    steps[j] = kDeletion;
  }
  for (size_t i = 1; i <= found.size(); ++i) {
    Cost diagonal = costs[0];
    ++costs[0].edits;
    steps[i * width] = kInsertion;
    for (size_t j = 1; j < width; ++j) {
      const TimedToken& a = found[i - 1];
      const TimedToken& b = reference[j - 1];
      const Cost pair = {diagonal.edits + (a.id == b.id ? 0 : 1),
                         diagonal.distance_ms + std::abs(a.start_ms - b.start_ms)};
      const Cost insertion = {costs[j].edits + 1, costs[j].distance_ms};
      const Cost deletion = {costs[j - 1].edits + 1, costs[j - 1].distance_ms};
      diagonal = costs[j];
      costs[j] = pair;
      steps[i * width + j] = kPair;
      if (insertion < costs[j]) {
        costs[j] = insertion;
        steps[i * width + j] = kInsertion;
      }
      if (deletion < costs[j]) {
        costs[j] = deletion;
        steps[i * width + j] = kDeletion;
      }
    }
  }
  std::vector<std::pair<size_t, size_t>> matches;
  for (size_t i = found.size(), j = reference.size(); i > 0 || j > 0;) {
    const Step step = steps[i * width + j];
    if (step != kDeletion) --i;
    if (step != kInsertion) --j;
    if (step == kPair && found[i].id == reference[j].id) matches.emplace_back(i, j);
  }
  std::reverse(matches.begin(), matches.end());
  return matches;
}

}  // namespace runnel
