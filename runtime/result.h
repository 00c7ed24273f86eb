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
  int32_t id = 0;       // index in the vocabulary (runtime/token_table.h)
  double start_ms = 0;  // start of the first encoder frame that emits it
  // End of the last encoder frame that emits it; with TDT, of its duration. When the utterance has
  // ended, at most the end of that.
  double end_ms = 0;
  float confidence = 0;  // its probability in these frames, 0 to 1
  int64_t frame = 0;     // the first encoder frame that emits it, counted from the stream's start
};

// One word: the tokens between two word boundaries.
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
  // With hotwords: the completed ones in the order of their ends; of those that end at the same
  // place, the longest.
  std::vector<HotwordMatch> hotwords;
};

// Why an utterance ended.
enum class UtteranceEnd {
  kEndpoint,  // by a rule of EndpointOptions
  kFinalize,  // by FinalizeUtterance
  kFinish     // by Finish
};

// The name in outputs, messages and metrics.
constexpr const char* NameOf(UtteranceEnd end) {
  return end == UtteranceEnd::kEndpoint   ? "endpoint"
         : end == UtteranceEnd::kFinalize ? "flush"
                                          : "finish";
}

// A part of the stream that is recognised and final. The next utterance begins where it ends, or at
// its last token if FinalizeUtterance ended it.
struct Utterance {
  int64_t index = 0;  // 0, 1, ... in the stream
  // The speech: the audio that the model reads from the first frame of the best hypothesis' first
  // token to the last frame of its last token, at most up to searched_ms. Without tokens, both are
  // searched_ms.
  double start_ms = 0;
  double end_ms = 0;
  double searched_ms = 0;  // end of the last encoder frame that belongs to the utterance
  UtteranceEnd end = UtteranceEnd::kFinish;
  double latency_ms = 0;          // of a live stream: as of the LiveUpdate that brings it
  std::vector<Hypothesis> nbest;  // best first, at least one. No two have the same text
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_RESULT_H_
