#include "runtime/search/ctc_search.h"

#include <stdexcept>

#include "runtime/search/greedy_search.h"
#include "runtime/search/prefix_beam_search.h"

namespace runnel {

std::unique_ptr<CtcSearch> MakeCtcSearch(const SearchOptions& options, int vocab_size,
                                         int blank_id) {
  options.Validate();
  if (options.method == SearchMethod::kModifiedBeam) {
    throw std::invalid_argument("modified beam search is of transducers, got the CTC head");
  }
  if (options.method == SearchMethod::kGreedy) {
    return std::make_unique<CtcGreedySearch>(vocab_size, blank_id);
  }
  return std::make_unique<CtcPrefixBeamSearch>(options, vocab_size, blank_id);
}

}  // namespace runnel
