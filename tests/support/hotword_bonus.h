// Bonuses of token sequences, by an automaton of hotwords.
#ifndef RUNNEL_TESTS_SUPPORT_HOTWORD_BONUS_H_
#define RUNNEL_TESTS_SUPPORT_HOTWORD_BONUS_H_

#include <cstdint>
#include <vector>

#include "runtime/hotwords/hotword_automaton.h"

namespace runnel::testing {

// The end of a sequence of tokens.
struct SequenceEnd {
  HotwordAutomaton::Node node = HotwordAutomaton::kStart;
  double completed = 0;
  double Total(const HotwordAutomaton& automaton) const {
    return completed + automaton.Potential(node);
  }
};

inline SequenceEnd Follow(const HotwordAutomaton& automaton, const std::vector<int32_t>& tokens) {
  SequenceEnd end;
  for (const int32_t token : tokens) end.node = automaton.Next(end.node, token, &end.completed);
  return end;
}

// Of a whole utterance.
inline double WholeBonus(const HotwordAutomaton& automaton, const std::vector<int32_t>& tokens) {
  SequenceEnd end = Follow(automaton, tokens);
  automaton.End(end.node, &end.completed);
  return end.completed;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_HOTWORD_BONUS_H_
