// Divides an utterance into captions that fit on a screen.
#ifndef RUNNEL_TOOLS_DECODE_FORMATS_CAPTION_CUES_H_
#define RUNNEL_TOOLS_DECODE_FORMATS_CAPTION_CUES_H_

#include <string>
#include <vector>

#include "runtime/result.h"
#include "runtime/token_table.h"

namespace runnel {

// The usual limits of captions (BBC Subtitle Guidelines, Netflix Timed Text Style Guide).
constexpr int kMaxCaptionColumns = 42;  // per line
constexpr int kMaxCaptionLines = 2;

// One caption: what is shown, and when.
struct CaptionCue {
  double start_ms = 0;
  double end_ms = 0;
  std::vector<std::string> lines;  // 1 to kMaxCaptionLines
};

// The best hypothesis of `utterance` in order; nothing when it has no text. Lines break between
// words, and in a word only when it is longer than a line, between its tokens. The text takes as
// few lines as possible, of about the same length. The first cue begins with the utterance, the
// last one ends with it. Between them a cue lasts from the start of its first word to the end of
// its last one.
std::vector<CaptionCue> MakeCues(const Utterance& utterance, const TokenTable& tokens);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_FORMATS_CAPTION_CUES_H_
