#include "runtime/search/ctc_search.h"

#include <stdexcept>
#include <string>

#include "runtime/search/greedy_search.h"
#include "runtime/search/prefix_beam_search.h"

namespace runnel {

void SearchOptions::Validate() const {
  if (method != SearchMethod::kGreedy && method != SearchMethod::kPrefixBeam) {
    throw std::invalid_argument("search.method must be kGreedy or kPrefixBeam, got " +
                                std::to_string(static_cast<int>(method)));
  }
  if (beam_size < 1 || beam_size > kMaxBeamSize) {
    throw std::invalid_argument("search.beam_size must be 1 to " + std::to_string(kMaxBeamSize) +
                                ", got " + std::to_string(beam_size));
  }
  if (token_beam < 1) {
    throw std::invalid_argument("search.token_beam must be at least 1, got " +
                                std::to_string(token_beam));
  }
  if (word_list != nullptr && method != SearchMethod::kPrefixBeam) {
    throw std::invalid_argument(
        "search.word_list needs search.method kPrefixBeam, got kGreedy, which knows no words");
  }
}

std::unique_ptr<CtcSearch> MakeCtcSearch(const SearchOptions& options, int vocab_size,
                                         int blank_id) {
  options.Validate();
  if (options.method == SearchMethod::kGreedy) {
    return std::make_unique<CtcGreedySearch>(vocab_size, blank_id);
  }
  return std::make_unique<CtcPrefixBeamSearch>(options, vocab_size, blank_id);
}

}  // namespace runnel
