// The result of a search: hypotheses with their tokens and words, timed in milliseconds of audio.
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

// One possible transcription of the audio so far.
struct Hypothesis {
  std::string text;  // UTF-8
  // Natural log probability under the CTC model. With beam search: the sum over all alignments that
  // the beam kept. With greedy search: of the best alignment only, which is lower.
  double score = 0;
  std::vector<Token> tokens;  // in order of time
  std::vector<Word> words;    // in order of time
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_RESULT_H_
