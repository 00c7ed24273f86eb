// The result of a search: utterances and hypotheses with their tokens and words, timed in
// milliseconds of audio since the start of the stream.
#ifndef RUNNEL_RUNTIME_RESULT_H_
#define RUNNEL_RUNTIME_RESULT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace runnel {

// One token of a hypothesis.
struct Token {
  int32_t id = 0;  // index in the vocabulary (runtime/token_table.h)
  // Start of the first encoder frame that emits it; where the next token starts, but at most 80 ms
  // and 40 ms for each of its characters after the last frame. With TDT the end of its duration.
  // Tokens do not overlap, and last at least 10 ms where there is room before them; several on one
  // frame start before it. All times are at least Utterance::end_ms of the utterances before, and
  // at most Utterance::searched_ms. Punctuation with TDT, and a special token, starts and ends
  // where the token before it ends. While the utterance goes on, the end of its last token may
  // change.
  double start_ms = 0;
  double end_ms = 0;
  float confidence = 0;  // its probability in these frames, 0 to 1
  int64_t frame = 0;     // the first encoder frame that emits it, counted from the stream's start
};

// One word: the tokens between two word boundaries, or a character of a script without spaces
// (runtime/token_table.h). Words do not overlap.
struct Word {
  std::string text;      // UTF-8
  double start_ms = 0;   // start of its first token
  double end_ms = 0;     // end of its last token
  float confidence = 0;  // lowest confidence of its tokens
};

// A hotword that a hypothesis contains (runtime/hotwords.h).
struct HotwordMatch {
  std::string phrase;   // as it is listed
  double start_ms = 0;  // start of its first token
  double end_ms = 0;    // end of its last token
};

// One possible transcription of an utterance.
struct Hypothesis {
  std::string text;  // UTF-8
  // Natural log probability under the head. With beam search: the sum over all alignments that the
  // beam kept, plus the bonus of hotwords and the score of the language model. With greedy search:
  // of the best alignment only, which is lower. With rescoring: the weighted sum.
  double score = 0;
  float confidence = 0;       // mean confidence of its words; 0 without words
  std::vector<Token> tokens;  // in order of time
  std::vector<Word> words;    // in order of time
  // Whether a space comes before, and after, the text where it is joined with that of the utterance
  // before, and after (runtime/text_joiner.h). Both false: the utterance begins and ends within a
  // word, or the vocabulary has no word boundaries.
  bool begins_word = false;
  bool ends_word = false;
  // With hotwords: the completed ones in the order of their ends; of those that end at the same
  // place, the longest.
  std::vector<HotwordMatch> hotwords;
  // As the model found it, such as "en-US": that of most tokens which tell one, of equally many the
  // later one. Tokens that tell one are tags of languages, and those of a vocabulary that was made
  // for one language (runtime/token_kinds.h). "" if none does.
  std::string language;
};

// Why an utterance ended.
enum class UtteranceEnd {
  kEndpoint,  // by a rule of EndpointOptions
  kFinalize,  // by FinalizeUtterance
  kFinish,    // by Finish
  kEndToken   // by an end token of the model, such as <EOU>, with EndpointOptions::enabled
};

// The name in outputs, messages and metrics.
constexpr const char* NameOf(UtteranceEnd end) {
  return end == UtteranceEnd::kEndpoint   ? "endpoint"
         : end == UtteranceEnd::kFinalize ? "flush"
         : end == UtteranceEnd::kFinish   ? "finish"
                                          : "end_token";
}

// A part of the stream that is recognised and final. The next utterance begins where it ends, or at
// its last token if FinalizeUtterance ended it.
struct Utterance {
  int64_t index = 0;  // 0, 1, ... in the stream
  // The speech: start of the best hypothesis' first token, and end of its last one. Special tokens
  // do not count. Without tokens, both are searched_ms.
  double start_ms = 0;
  double end_ms = 0;
  // End of the last encoder frame that belongs to the utterance, or of the samples that the frame
  // reads, where that is earlier. At most the samples that were accepted when it ended.
  double searched_ms = 0;
  UtteranceEnd end = UtteranceEnd::kFinish;
  double latency_ms = 0;          // of a live stream: as of the LiveUpdate that brings it
  std::vector<Hypothesis> nbest;  // best first, at least one. No two have the same text
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_RESULT_H_
