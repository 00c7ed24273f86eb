// What a search has found: hypotheses, their tokens and words, in milliseconds of audio.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools.
#ifndef RUNNEL_RUNTIME_RESULT_H_
#define RUNNEL_RUNTIME_RESULT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace runnel {

// One output unit of a hypothesis.
struct Token {
  int32_t id = 0;        // CTC output
  double start_ms = 0;   // audio time at which the encoder frame that emitted it begins
  double end_ms = 0;     // end of the last encoder frame in which it is emitted
  float confidence = 0;  // probability, 0 to 1, of the token where it is emitted
};

// One word: the tokens between two word boundaries.
struct Word {
  std::string text;      // UTF-8
  double start_ms = 0;   // start of its first token
  double end_ms = 0;     // end of its last token
  float confidence = 0;  // lowest confidence of its tokens
};

// One reading of the audio so far.
struct Hypothesis {
  std::string text;  // UTF-8
  // Log probability (natural) under the CTC model: of all alignments of its tokens that the beam
  // search kept; with greedy search, of the one best alignment, which is less.
  double score = 0;
  std::vector<Token> tokens;  // in order of time
  std::vector<Word> words;    // in order of time
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_RESULT_H_
