#include "runtime/stream/cut_tokens.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/search/ctc_search.h"

namespace runnel {

// The tokens of the utterance before may have been found earlier than they were first.
void CutTokens::Add(const std::vector<TokenSpan>& tokens) {
  for (TokenSpan token : tokens) {
    if (!tokens_.empty())
      token.first_frame = std::max(token.first_frame, tokens_.back().first_frame);
    token.last_frame = token.first_frame;
    tokens_.push_back(token);
  }
}

std::optional<CutTokens::Place> CutTokens::Pass(const std::vector<int32_t>& ids, int32_t blank_id,
                                                const Place& place) {
  const TokenSpan last = tokens_.back();
  std::optional<Place> next;
  int32_t repeated = place.token_before;
  bool is_known = true;  // `repeated` was handed out
  int64_t frame = place.frame;
  for (const int32_t id : ids) {
    const bool begins = id != blank_id && id != repeated;
    repeated = id == blank_id ? CtcSearch::kNoToken : id;
    if (begins) {
      const auto found =
          std::find_if(tokens_.begin(), tokens_.end(), [id, frame](const TokenSpan& token) {
            return token.id == id && std::abs(token.first_frame - frame) <= kMostShift;
          });
      is_known = found != tokens_.end();
      if (is_known) {
        tokens_.erase(tokens_.begin(), found + 1);
        next = Place{frame, id};
        if (tokens_.empty()) return next;
      } else if (frame > last.first_frame) {
        tokens_.clear();  // it follows the utterance
        return next;
      }
    }
    const bool goes_on = repeated != CtcSearch::kNoToken && is_known;
    if (frame < last.first_frame) {
      next = Place{frame + 1, goes_on ? repeated : CtcSearch::kNoToken};
    } else if (frame == last.first_frame) {
      next = Place{frame, goes_on ? repeated : last.id};
    }
    ++frame;
  }
  if (frame >= end_frame()) tokens_.clear();
  return next;
}

std::string CutTokens::Inconsistency(int64_t end_frame, int vocab_size, int blank_id) const {
  return TokenProblem(tokens_, TokenOrder::kSharedFrames, end_frame, vocab_size, blank_id);
}

}  // namespace runnel
