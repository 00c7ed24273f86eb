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
  int32_t id = 0;        // index in the vocabulary (runtime/token_table.h)
  double start_ms = 0;   // start of the first encoder frame that emits it
  double end_ms = 0;     // end of the last encoder frame that emits it
  float confidence = 0;  // its probability in these frames, 0 to 1
};

// One word: the tokens between two word boundaries.
struct Word {
  std::string text;      // UTF-8
  double start_ms = 0;   // start of its first token
  double end_ms = 0;     // end of its last token
  float confidence = 0;  // lowest confidence of its tokens
};

// One possible transcription of an utterance.
struct Hypothesis {
  std::string text;  // UTF-8
  // Natural log probability under the CTC model. With beam search: the sum over all alignments that
  // the beam kept. With greedy search: of the best alignment only, which is lower.
  double score = 0;
  float confidence = 0;       // mean confidence of its words; 0 without words
  std::vector<Token> tokens;  // in order of time
  std::vector<Word> words;    // in order of time
};

// Why an utterance ended.
enum class UtteranceEnd {
  kEndpoint,  // by a rule of EndpointOptions
  kFinalize,  // by FinalizeUtterance
  kFinish     // by Finish
};

// A part of the stream that is recognised and final. The next utterance begins where it ends.
struct Utterance {
  int64_t index = 0;    // 0, 1, ... in the stream
  double start_ms = 0;  // start of the first token of the best hypothesis; without tokens: end_ms
  double end_ms = 0;    // end of its last token; without tokens: searched_ms
  double searched_ms = 0;  // end of the last encoder frame that belongs to the utterance
  UtteranceEnd end = UtteranceEnd::kFinish;
  double latency_ms = 0;          // of a live stream: as of the LiveUpdate that brings it
  std::vector<Hypothesis> nbest;  // best first, at least one. No two have the same text
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_RESULT_H_
