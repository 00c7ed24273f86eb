// Results as text: Kaldi lines, JSON lines, or NIST CTM.
#ifndef RUNNEL_TOOLS_DECODE_OUTPUT_FORMAT_H_
#define RUNNEL_TOOLS_DECODE_OUTPUT_FORMAT_H_

#include <string>

#include "runtime/token_table.h"
#include "tools/decode/recording_result.h"

namespace runnel {

enum class OutputFormat {
  kText,  // "id text"; with nbest above 1 "id-1 text", "id-2 text", ..., best first
  kJson,  // one object per line: id, text, audio_seconds, nbest
  kCtm,   // the best hypothesis, "id 1 start duration word confidence" per word, in seconds
};

// "text", "json" or "ctm"; throws std::invalid_argument otherwise.
OutputFormat ParseOutputFormat(const std::string& name);

// "id text", or "id" when there is no text, and a newline.
std::string TextLine(const std::string& id, const std::string& text);

// All lines of one recording; ends with a newline unless empty. `nbest`: the requested number of
// hypotheses, which `result` may not reach. JSON is valid UTF-8 whatever the id and the tokens are.
// Scores, confidences and times have a fixed number of decimals, so that runs which agree to within
// rounding print the same.
std::string FormatResult(OutputFormat format, const std::string& id, const RecordingResult& result,
                         int nbest, const TokenTable& tokens);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_OUTPUT_FORMAT_H_
