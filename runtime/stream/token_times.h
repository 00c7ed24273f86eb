// When the tokens of a hypothesis are spoken.
#ifndef RUNNEL_RUNTIME_STREAM_TOKEN_TIMES_H_
#define RUNNEL_RUNTIME_STREAM_TOKEN_TIMES_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/search/search.h"

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

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_TOKEN_TIMES_H_
