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
  if (method == SearchMethod::kPrefixBeam) return;
  const char* needs_beam = word_list != nullptr        ? "word_list"
                           : hotwords != nullptr       ? "hotwords"
                           : language_model != nullptr ? "language_model"
                                                       : nullptr;
  if (needs_beam != nullptr) {
    throw std::invalid_argument(std::string("search.") + needs_beam +
                                " needs search.method kPrefixBeam, got kGreedy");
  }
}

std::string TokenProblem(const std::vector<TokenSpan>& tokens, int64_t end_frame, int vocab_size,
                         int blank_id) {
  int64_t next_frame = 0;
  for (const TokenSpan& token : tokens) {
    if (token.id < 0 || token.id >= vocab_size || token.id == blank_id) {
      return "token id is " + std::to_string(token.id) + "; expected a token that is not the blank";
    }
    if (token.first_frame < next_frame || token.last_frame < token.first_frame ||
        token.last_frame >= end_frame) {
      return "a token spans frames " + std::to_string(token.first_frame) + " to " +
             std::to_string(token.last_frame) + "; expected frames from " +
             std::to_string(next_frame) + " on and below " + std::to_string(end_frame);
    }
    next_frame = token.last_frame + 1;
    if (!(token.confidence >= 0 && token.confidence <= 1)) {
      return "confidence of a token is " + std::to_string(token.confidence) + "; expected 0 to 1";
    }
  }
  return "";
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
