#include "runtime/search_options.h"

#include <stdexcept>
#include <string>

namespace runnel {

void RescoringOptions::Validate() const {
  if (!(first_pass_weight >= 0 && first_pass_weight <= kMaxWeight)) {
    throw std::invalid_argument("search.rescoring.first_pass_weight must be 0 to 100, got " +
                                std::to_string(first_pass_weight));
  }
  if (!(reverse_weight >= 0 && reverse_weight <= 1)) {
    throw std::invalid_argument("search.rescoring.reverse_weight must be 0 to 1, got " +
                                std::to_string(reverse_weight));
  }
}

void SearchOptions::Validate() const {
  rescoring.Validate();
  if (method != SearchMethod::kGreedy && method != SearchMethod::kPrefixBeam &&
      method != SearchMethod::kModifiedBeam) {
    throw std::invalid_argument(
        "search.method must be kGreedy, kPrefixBeam or kModifiedBeam, got " +
        std::to_string(static_cast<int>(method)));
  }
  if (head != Head::kDefault && head != Head::kCtc && head != Head::kTransducer) {
    throw std::invalid_argument("search.head must be kDefault, kCtc or kTransducer, got " +
                                std::to_string(static_cast<int>(head)));
  }
  if (max_symbols < 0 || max_symbols > kMaxSymbols) {
    throw std::invalid_argument("search.max_symbols must be 0 to " + std::to_string(kMaxSymbols) +
                                ", got " + std::to_string(max_symbols));
  }
  if (!(ctc_weight >= 0 && ctc_weight <= 1)) {
    throw std::invalid_argument("search.ctc_weight must be 0 to 1, got " +
                                std::to_string(ctc_weight));
  }
  if (beam_size < 1 || beam_size > kMaxBeamSize) {
    throw std::invalid_argument("search.beam_size must be 1 to " + std::to_string(kMaxBeamSize) +
                                ", got " + std::to_string(beam_size));
  }
  if (token_beam < 1) {
    throw std::invalid_argument("search.token_beam must be at least 1, got " +
                                std::to_string(token_beam));
  }
  if (method != SearchMethod::kGreedy) return;
  const char* needs_beam = word_list != nullptr        ? "word_list"
                           : hotwords != nullptr       ? "hotwords"
                           : language_model != nullptr ? "language_model"
                           : rescoring.enabled         ? "rescoring"
                                                       : nullptr;
  if (needs_beam != nullptr) {
    throw std::invalid_argument(std::string("search.") + needs_beam +
                                " needs a beam search, got greedy search");
  }
}

}  // namespace runnel
