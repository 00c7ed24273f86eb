// The output formats of decode_wav: Kaldi lines, JSON lines, NIST CTM, captions.
#ifndef RUNNEL_TOOLS_DECODE_FORMATS_OUTPUT_FORMAT_H_
#define RUNNEL_TOOLS_DECODE_FORMATS_OUTPUT_FORMAT_H_

#include <memory>
#include <string>

#include "runtime/token_table.h"
#include "tools/decode/formats/result_formatter.h"

namespace runnel {

enum class OutputFormat {
  // A recording is one utterance.
  kText,  // "id text"; with nbest above 1 "id-1 text", "id-2 text", ..., best first
  kJson,  // one object per line: id, text, audio_seconds, nbest
  // A recording is any number of utterances. Those without text are left out.
  kUtteranceText,  // "id-0001 text" per utterance; with nbest above 1 "id-0001-1 text", ...
  kJoinedText,     // "id text": the best texts of all utterances joined (TextJoiner)
  kUtteranceJson,  // one object per line: id, segments, audio_seconds; error instead of
                   // audio_seconds when the recording failed after its first utterance
  kSrt,            // SubRip captions
  kVtt,            // WebVTT captions
  // Either.
  kCtm,  // the best hypothesis, "id 1 start duration word confidence" per word, in seconds
};

// The format without endpointing: "text", "json" or "ctm". Throws std::invalid_argument otherwise;
// the captions "srt" and "vtt" need endpointing.
OutputFormat ParseOutputFormat(const std::string& name);

// The format with endpointing: also "srt" and "vtt".
OutputFormat ParseUtteranceFormat(const std::string& name);

// The formatter of the recording `id`. `nbest`: the requested number of hypotheses. `tokens` must
// outlive the formatter.
std::unique_ptr<ResultFormatter> MakeFormatter(OutputFormat format, const std::string& id,
                                               int nbest, const TokenTable& tokens);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_FORMATS_OUTPUT_FORMAT_H_
