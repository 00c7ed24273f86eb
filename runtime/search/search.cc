#include "runtime/search/search.h"

#include <string>

namespace runnel {

std::string TokenProblem(const std::vector<TokenSpan>& tokens, TokenOrder order, int64_t end_frame,
                         int vocab_size, int blank_id) {
  int64_t next_frame = 0;
  for (const TokenSpan& token : tokens) {
    if (token.id < 0 || token.id >= vocab_size || token.id == blank_id) {
      return "token id is " + std::to_string(token.id) + "; expected a token that is not the blank";
    }
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
