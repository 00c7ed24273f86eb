// Utterances for the tests of output formats.
#ifndef RUNNEL_TESTS_TOOLS_DECODE_FORMATS_MAKE_UTTERANCE_H_
#define RUNNEL_TESTS_TOOLS_DECODE_FORMATS_MAKE_UTTERANCE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.h"
#include "runtime/token_table.h"

namespace runnel::testing {

// A vocabulary of the blank and `tokens`, whose ids are 1, 2, ...
inline TokenTable MakeTable(const std::vector<std::string>& tokens) {
  std::string units = "<blank> 0\n";
  for (size_t i = 0; i < tokens.size(); ++i) {
    units += tokens[i] + " " + std::to_string(i + 1) + "\n";
  }
  return TokenTable(units, static_cast<int>(tokens.size()) + 1, 0, "units");
}

// Text and words follow from the tokens, as in a Stream; the score is -1.5.
inline Hypothesis MakeHypothesis(const std::vector<Token>& tokens, const TokenTable& table) {
  Hypothesis hypothesis;
  hypothesis.score = -1.5;
  hypothesis.tokens = tokens;
  table.Complete(&hypothesis);
  for (const Word& word : hypothesis.words) {
    hypothesis.confidence += word.confidence / static_cast<float>(hypothesis.words.size());
  }
  return hypothesis;
}

// The n-best list has one hypothesis.
inline Utterance MakeUtterance(int64_t index, UtteranceEnd end, const std::vector<Token>& tokens,
                               const TokenTable& table) {
  Utterance utterance;
  utterance.index = index;
  utterance.end = end;
  utterance.nbest = {MakeHypothesis(tokens, table)};
  if (!tokens.empty()) {
    utterance.start_ms = tokens.front().start_ms;
    utterance.end_ms = tokens.back().end_ms;
  }
  return utterance;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_TOOLS_DECODE_FORMATS_MAKE_UTTERANCE_H_
