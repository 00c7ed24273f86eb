// Which hypotheses a beam search keeps for their score without an unfinished hotword.
#ifndef RUNNEL_RUNTIME_SEARCH_FIRM_SCORES_H_
#define RUNNEL_RUNTIME_SEARCH_FIRM_SCORES_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/scoring/prefix_scorer.h"

namespace runnel {

// The *firm* score of a hypothesis is its score without the potential of an unfinished hotword. If
// scores alone decided, a hotword that begins like what is said would fill the beam with variants
// of its beginning. The hypothesis that goes on with other words loses the potential, and would be
// pruned. A beam search with hotwords therefore keeps the firmest hypotheses too, as many as a
// quarter of its beam_size. Those of them that are among the beam_size best take no further place.

// 0 without hotwords.
inline size_t NumFirmest(size_t beam_size, const PrefixScorer& scorer) {
  return scorer.has_potentials() ? (beam_size + 3) / 4 : 0;
}

// [begin, end) are kept for their scores. Moves those of [end, items_end) that are among the
// num_firmest firmest of all to `end`, and returns the new end. Of equally firm items those before
// `end` come first, then the better ones. `scratch` is overwritten.
template <typename Iterator, typename Better>
Iterator KeepFirmest(Iterator begin, Iterator end, Iterator items_end, size_t num_firmest,
                     const Better& better, std::vector<double>* scratch) {
  const auto firmer = [&better](const auto& a, const auto& b) {
    return a.firm_score() != b.firm_score() ? a.firm_score() > b.firm_score() : better(a, b);
  };
  std::vector<double>& kept = *scratch;  // firm scores of [begin, end)
  kept.clear();
  for (Iterator item = begin; item != end; ++item) kept.push_back(item->firm_score());
  std::sort(kept.begin(), kept.end(), std::greater<>());
  const auto num_left = static_cast<size_t>(items_end - end);
  const Iterator last = end + static_cast<std::ptrdiff_t>(std::min(num_firmest, num_left));
  std::partial_sort(end, last, items_end, firmer);
  size_t num_firmer = 0;  // of all items
  auto next_kept = kept.begin();
  for (Iterator item = end; item != last; ++item, ++num_firmer) {
    for (; next_kept != kept.end() && *next_kept >= item->firm_score(); ++next_kept) ++num_firmer;
    if (num_firmer >= num_firmest) return item;
  }
  return last;
}

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_FIRM_SCORES_H_
