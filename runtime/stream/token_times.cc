#include "runtime/stream/token_times.h"

#include <algorithm>
#include <cstddef>

namespace runnel {

std::vector<SpokenFrames> FramesOf(const std::vector<TokenSpan>& tokens, SpokenFrames within,
                                   const std::function<bool(int32_t)>& takes_no_time) {
  std::vector<SpokenFrames> frames(tokens.size());
  int64_t latest_end = within.end;
  for (size_t i = tokens.size(); i > 0; --i) {
    const TokenSpan& token = tokens[i - 1];
    if (i > 1 && takes_no_time(token.id)) continue;
    frames[i - 1] = {std::max(token.first_frame, within.begin),
                     std::max(std::min(token.last_frame + 1, latest_end), within.begin)};
    latest_end = frames[i - 1].begin;
  }
  for (size_t i = 1; i < tokens.size(); ++i) {
    if (takes_no_time(tokens[i].id)) frames[i] = {frames[i - 1].end, frames[i - 1].end};
  }
  return frames;
}

}  // namespace runnel
