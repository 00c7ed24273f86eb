// Pairs the equal tokens of two token sequences, by edit distance.
#ifndef RUNNEL_TOOLS_VERIFICATION_TOKEN_MATCHING_H_
#define RUNNEL_TOOLS_VERIFICATION_TOKEN_MATCHING_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace runnel {

struct TimedToken {
  int32_t id = 0;
  double start_ms = 0;
};

// Indices of equal tokens, (index in `found`, index in `reference`), both increasing. They come
// from an alignment with the fewest insertions, deletions and substitutions (Levenshtein distance).
// Of several such alignments it is one whose pairs lie closest in time, so that a token that
// repeats is paired with the repetition that it most probably is. Time and memory: O(product of the
// sizes), one byte for each pair of positions.
std::vector<std::pair<size_t, size_t>> MatchTokens(const std::vector<TimedToken>& found,
                                                   const std::vector<TimedToken>& reference);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_TOKEN_MATCHING_H_
