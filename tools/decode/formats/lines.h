// Lines that several output formats share.
#ifndef RUNNEL_TOOLS_DECODE_FORMATS_LINES_H_
#define RUNNEL_TOOLS_DECODE_FORMATS_LINES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.h"

namespace runnel {

// "id text", or "id" when there is no text, and a newline.
std::string TextLine(const std::string& id, const std::string& text);

// The text lines of an n-best list. `nbest` is the requested number of hypotheses, which
// `hypotheses` (best first, at least one) may not reach. 1: a line with the id. More: lines with
// "id-1", "id-2", ...
std::string TextLines(const std::string& id, const std::vector<Hypothesis>& hypotheses, int nbest);

// The id of an utterance: "id-0001" for `index` 0. At least four digits.
std::string UtteranceId(const std::string& id, int64_t index);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_FORMATS_LINES_H_
