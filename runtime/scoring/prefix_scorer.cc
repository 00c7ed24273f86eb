#include "runtime/scoring/prefix_scorer.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "runtime/hotwords.h"
#include "runtime/text/vocabulary.h"

namespace runnel {

PrefixScorer::PrefixScorer(const SearchOptions& options, int vocab_size, int blank_id)
    : hotwords_(options.hotwords), language_model_(options.language_model) {
  if (hotwords_ != nullptr) {
    CheckSameVocabulary("search.hotwords", hotwords_->vocab_size(), hotwords_->blank_id(),
                        vocab_size, blank_id);
    automaton_ = &hotwords_->automaton();
  }
  if (language_model_ != nullptr) {
    CheckSameVocabulary("search.language_model", language_model_->vocab_size(),
                        language_model_->blank_id(), vocab_size, blank_id);
  }
}

PrefixScorer::State PrefixScorer::Start() const {
  State state;
  if (language_model_ != nullptr) state.language_model = language_model_->Start();
  return state;
}

void PrefixScorer::Extend(State* state, int32_t token, double most_growth) const {
  if (automaton_ != nullptr) ExtendHotwords(state, token, most_growth);
  if (language_model_ != nullptr) {
    state->language_model_score += language_model_->Extend(&state->language_model, token);
  }
  UpdateBonus(state);
}

void PrefixScorer::ExtendHotwords(State* state, int32_t token, double most_growth) const {
  const State before = *state;
  state->hotword_node = automaton_->Next(state->hotword_node, token, &state->hotword_bonus);
  Bound(before, automaton_->Potential(state->hotword_node), most_growth, state);
}

// What a bound withholds from an unfinished phrase is given back with its potential, when the
// phrase is abandoned. Of a completed phrase it is lost.
void PrefixScorer::Bound(const State& before, double potential, double most_growth,
                         State* state) const {
  const double growth = state->hotword_bonus - before.hotword_bonus + potential -
                        automaton_->Potential(before.hotword_node);
  const double excess = std::max(0.0, growth - most_growth);
  if (state->hotword_bonus == before.hotword_bonus) {
    state->withheld = std::max(0.0, before.withheld + std::min(growth, 0.0)) + excess;
    return;
  }
  const double of_next = std::min(excess, potential);  // the phrase that the token begins
  state->hotword_bonus -= before.withheld + excess - of_next;
  state->withheld = of_next;
}

void PrefixScorer::End(State* state, double most_growth) const {
  if (automaton_ != nullptr) {
    const State before = *state;
    automaton_->End(state->hotword_node, &state->hotword_bonus);
    state->hotword_node = HotwordAutomaton::kStart;  // which has no potential
    Bound(before, 0, most_growth, state);
  }
  if (language_model_ != nullptr) {
    state->language_model_score += language_model_->End(state->language_model);
  }
  UpdateBonus(state);
}

void PrefixScorer::UpdateBonus(State* state) const {
  state->potential =
      automaton_ == nullptr ? 0 : automaton_->Potential(state->hotword_node) - state->withheld;
  state->bonus = state->language_model_score + state->hotword_bonus + state->potential;
}

double PrefixScorer::MostGain(const State& state) const {
  double gain = 0;
  if (automaton_ != nullptr) gain += automaton_->MostGain(state.hotword_node);
  if (language_model_ != nullptr) gain += language_model_->MostGain(state.language_model);
  return gain;
}

}  // namespace runnel
