// What hotwords and a language model add to the score of a hypothesis, for any search.
#ifndef RUNNEL_RUNTIME_SCORING_PREFIX_SCORER_H_
#define RUNNEL_RUNTIME_SCORING_PREFIX_SCORER_H_

#include <cstdint>
#include <limits>
#include <memory>

#include "runtime/hotwords/hotword_automaton.h"
#include "runtime/scoring/language_model_scorer.h"
#include "runtime/search_options.h"

namespace runnel {

// The bonus of a token sequence is that of the hotwords (runtime/hotwords.h) plus that of the
// language model (language_model_scorer.h). It is a function of the tokens, with one exception: a
// search may bound what hotwords add for a token. Immutable: every method may be called from
// several threads.
class PrefixScorer {
 public:
  // Of one token sequence. Bonus and potential are those of the sequence.
  struct State {
    // A natural logarithm. After End, without the potential of an unfinished phrase.
    double bonus = 0;
    // The part of `bonus` that is lost when the unfinished phrase is abandoned; 0 or more.
    double potential = 0;
    double hotword_bonus = 0;  // of completed phrases
    double withheld = 0;       // of the unfinished phrase's potential, by bounds
    double language_model_score = 0;
    HotwordAutomaton::Node hotword_node = HotwordAutomaton::kStart;
    LanguageModelScorer::State language_model{};
  };

  // Throws std::invalid_argument when the hotwords or the language model are prepared for a
  // vocabulary of another size or blank.
  PrefixScorer(const SearchOptions& options, int vocab_size, int blank_id);

  // Whether any bonus differs from 0.
  bool scores() const { return automaton_ != nullptr || language_model_ != nullptr; }

  // Whether any potential differs from 0.
  bool has_potentials() const { return automaton_ != nullptr; }

  // Of the empty sequence.
  State Start() const;

  // Appends a token, not the blank. The bonus of the hotwords grows by `most_growth` at most.
  void Extend(State* state, int32_t token, double most_growth = kUnbounded) const;

  // The end of the utterance.
  void End(State* state, double most_growth = kUnbounded) const;

  // At least as large as the growth of the bonus by one token.
  double MostGain(const State& state) const;

 private:
  static constexpr double kUnbounded = std::numeric_limits<double>::infinity();

  void ExtendHotwords(State* state, int32_t token, double most_growth) const;
  // `potential`: of the automaton after the step that changed `before` to `*state`.
  void Bound(const State& before, double potential, double most_growth, State* state) const;
  void UpdateBonus(State* state) const;

  std::shared_ptr<const Hotwords> hotwords_;  // keeps automaton_
  const HotwordAutomaton* automaton_ = nullptr;
  std::shared_ptr<const LanguageModelScorer> language_model_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SCORING_PREFIX_SCORER_H_
