// Finds the tokens again that FinalizeUtterance has handed out to its caller.
#ifndef RUNNEL_RUNTIME_STREAM_CUT_TOKENS_H_
#define RUNNEL_RUNTIME_STREAM_CUT_TOKENS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/search/search.h"

namespace runnel {

// The tokens at the end of utterances that FinalizeUtterance has ended, of frames that a CTC search
// is given again with the audio after them. The most probable tokens of these frames are
// compared with them, in their order and chunk by chunk, so that the next utterance begins with the
// first token that was not handed out.
//
// A token may move by up to kMostShift frames when the audio after it is known. Frames before the
// last token of the utterance belong to that utterance, whatever they emit.
class CutTokens {
 public:
  static constexpr int64_t kMostShift = 3;

  // Where a search begins: with this frame, as if the one before it had emitted `token_before`.
  struct Place {
    int64_t frame = 0;
    int32_t token_before = 0;  // CtcSearch::kNoToken: none
  };

  // Adds tokens of the next utterance that FinalizeUtterance has ended, in their order.
  void Add(const std::vector<TokenSpan>& tokens);

  // Whether nothing is left to be found.
  bool empty() const { return tokens_.empty(); }
  void Clear() { tokens_.clear(); }

  // The frame after those in which the tokens may be. Not empty.
  int64_t end_frame() const { return tokens_.back().first_frame + kMostShift + 1; }

  // Looks at frames that follow those of the call before. ids: the most probable ones of the frames
  // from place.frame on, at most up to end_frame(). `place` is where the search stands; it has
  // found no token yet. Returns where it is to begin anew; none: it goes on where it stands. Not
  // empty.
  std::optional<Place> Pass(const std::vector<int32_t>& ids, int32_t blank_id, const Place& place);

  // What is wrong with restored tokens, of utterances that ended at `end_frame`; "" if nothing is.
  std::string Inconsistency(int64_t end_frame, int vocab_size, int blank_id) const;

  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    VisitTokens(self.tokens_, fields);
  }

 private:
  std::vector<TokenSpan> tokens_;  // that are not found yet
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_CUT_TOKENS_H_
