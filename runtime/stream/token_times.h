// When the tokens of a hypothesis are spoken.
#ifndef RUNNEL_RUNTIME_STREAM_TOKEN_TIMES_H_
#define RUNNEL_RUNTIME_STREAM_TOKEN_TIMES_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "runtime/model.h"
#include "runtime/result.h"
#include "runtime/search/search.h"
#include "runtime/search_options.h"

namespace runnel {

// Encoder frames from `begin` to before `end`.
struct SpokenFrames {
  int64_t begin = 0;
  int64_t end = 0;
};

// Milliseconds of audio since the start of the stream.
struct SpokenMs {
  double begin = 0;
  double end = 0;
};

// The frames of each token, none of which overlap. They begin where the token is first emitted, and
// end after its last frame, but at the latest where the next token begins. Of several tokens that
// begin on one frame, only the last one thus has a duration. Frames that are not `within` are left
// out; a token of only such frames has no duration. `within` ends after the token's first frames.
//
// A token for which `takes_no_time` holds, unless it is the first one, has no duration: it begins
// and ends where the token before it ends.
std::vector<SpokenFrames> FramesOf(const std::vector<TokenSpan>& tokens, SpokenFrames within,
                                   const std::function<bool(int32_t)>& takes_no_time);

// The times of the tokens that a stream of a model finds. `within` is as for FramesOf: the frames
// of an utterance, or of the present text. A duration of TDT may lead further, and after
// FinalizeUtterance a token may begin before them.
class TokenTimes {
 public:
  // `head`: of the stream, not kDefault. The model must outlive this.
  TokenTimes(const Model& model, Head head);

  // Special tokens, and punctuation of a model with durations, which is emitted late: after the
  // pause that it found (NeMo's _refine_timestamps_tdt).
  bool TakesNoTime(int32_t id) const;

  std::vector<Token> InMilliseconds(const std::vector<TokenSpan>& spans, SpokenFrames within) const;

  // From the start of the first to the end of the last token that is text; none without such
  // tokens.
  std::optional<SpokenMs> SpeechOf(const std::vector<TokenSpan>& spans, SpokenFrames within) const;

  // The first encoder frame that does not begin before this time.
  int64_t FirstFrameFrom(double ms) const;

 private:
  std::vector<SpokenFrames> Frames(const std::vector<TokenSpan>& spans, SpokenFrames within) const;
  double BeginMs(int64_t encoder_frame) const;
  // The end of the audio that this encoder frame reads.
  double EndOfAudioMs(int64_t encoder_frame) const;

  const Model* model_;
  double frame_ms_;
  bool has_durations_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_TOKEN_TIMES_H_
