#include "runtime/search/search.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace runnel {

std::vector<TokenSequence> Search::NBest(int n) const {
  if (n < 1) {
    throw std::invalid_argument("NBest: n must be at least 1, got " + std::to_string(n));
  }
  const size_t count = std::min(static_cast<size_t>(n), num_sequences());
  std::vector<TokenSequence> sequences;
  for (size_t rank = 0; rank < count; ++rank) sequences.push_back(SequenceAt(rank));
  return sequences;
}

std::string TokenIdProblem(int32_t id, int vocab_size, int blank_id) {
  if (id >= 0 && id < vocab_size && id != blank_id) return "";
  return "token id is " + std::to_string(id) + "; expected a token that is not the blank";
}

std::string TokenProblem(const std::vector<TokenSpan>& tokens, TokenOrder order, int64_t end_frame,
                         int vocab_size, int blank_id) {
  int64_t next_frame = 0;
  for (const TokenSpan& token : tokens) {
    std::string problem = TokenIdProblem(token.id, vocab_size, blank_id);
    if (!problem.empty()) return problem;
    const int64_t last_begun = order == TokenOrder::kApart ? token.last_frame : token.first_frame;
    if (token.first_frame < next_frame || token.last_frame < token.first_frame ||
        last_begun >= end_frame) {
      return "a token spans frames " + std::to_string(token.first_frame) + " to " +
             std::to_string(token.last_frame) + "; expected frames from " +
             std::to_string(next_frame) + " on and below " + std::to_string(end_frame);
    }
    next_frame = order == TokenOrder::kApart ? token.last_frame + 1 : token.first_frame;
    if (!(token.confidence >= 0 && token.confidence <= 1)) {
      return "confidence of a token is " + std::to_string(token.confidence) + "; expected 0 to 1";
    }
  }
  return "";
}

}  // namespace runnel
