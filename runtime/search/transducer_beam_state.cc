// Saves and restores the state of a transducer's beam search: its tree as a list, parents first.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/search/predictor_state_fields.h"
#include "runtime/search/transducer_beam_search.h"
#include "runtime/snapshot/state_fields.h"

namespace runnel {

struct TransducerBeamSearch::Saved {
  int64_t num_frames = 0;
  bool is_finished = false;
  float blank_log_prob = 0;
  EarlierTokens earlier;
  ListedTree<EmittedToken> emissions;
  std::vector<Hypothesis> beam;  // whose nodes are names of the list
};

template <class Self, class Fields>
void TransducerBeamSearch::VisitSaved(const Transducer& transducer, Self& saved, Fields& fields) {
  fields.Counter(saved.num_frames);
  fields.Value(saved.is_finished);
  fields.Value(saved.blank_log_prob);
  EarlierTokens::VisitState(saved.earlier, fields);
  ListedTree<EmittedToken>::VisitState(saved.emissions, fields,
                                       sizeof(int32_t) + Emission::kSavedSize, [&](auto& emitted) {
                                         fields.Value(emitted.token);
                                         Emission::VisitState(emitted.emission, fields);
                                       });
  constexpr size_t kHypothesisSize = sizeof(int32_t) + sizeof(double) + sizeof(int64_t);
  VisitList(saved.beam, fields, kHypothesisSize, [&](auto& hypothesis) {
    fields.Value(hypothesis.node);
    fields.Value(hypothesis.log_prob);
    fields.Counter(hypothesis.next_frame);
    VisitPredictorState(transducer, hypothesis.predictor, fields);
  });
}

void TransducerBeamSearch::Save(StateWriter* writer) const {
  std::vector<int32_t> ends;
  for (const Hypothesis& hypothesis : state_.beam) ends.push_back(hypothesis.node);
  Saved saved;
  saved.num_frames = state_.num_frames;
  saved.is_finished = state_.is_finished;
  saved.blank_log_prob = state_.blank_log_prob;
  saved.earlier = state_.earlier;
  saved.emissions = {state_.emissions, ends};
  saved.beam = state_.beam;
  for (Hypothesis& hypothesis : saved.beam) {
    hypothesis.node = saved.emissions.NameOf(hypothesis.node);
  }
  VisitSaved(*transducer_, std::as_const(saved), *writer);
}

void TransducerBeamSearch::Restore(StateReader* reader) {
  Saved saved;
  VisitSaved(*transducer_, saved, *reader);
  reader->Check(Inconsistency(saved));
  Rebuild(saved);
}

std::string TransducerBeamSearch::Inconsistency(const Saved& saved) const {
  const TransducerConfig& config = transducer_->config();
  if (std::isnan(saved.blank_log_prob)) return "the blank's log probability is not a number";
  std::string problem = saved.emissions.Problem("tokens");
  for (const auto& [parent, emitted] : saved.emissions.nodes()) {
    if (problem.empty()) {
      problem = TokenIdProblem(emitted.token, config.vocab_size, config.blank_id);
    }
  }
  if (!problem.empty()) return problem;
  const int64_t longest = config.durations.empty()
                              ? 1
                              : std::max<int64_t>(1, *std::max_element(config.durations.begin(),
                                                                       config.durations.end()));
  const std::vector<int64_t> begins = saved.emissions.AlongPaths(
      int64_t{0},
      [](int64_t, const EmittedToken& emitted) { return emitted.emission.first_frame; });
  for (const auto& [parent, emitted] : saved.emissions.nodes()) {
    const Emission& emission = emitted.emission;
    if (!emission.IsWithin(begins[static_cast<size_t>(parent)], saved.num_frames) ||
        emission.last_frame - emission.first_frame >= longest) {
      return "the frames of a token are out of order or of range";
    }
  }
  const size_t most = (beam_size_ + num_firmest_) * static_cast<size_t>(longest);
  if (saved.beam.empty() || saved.beam.size() > most) {
    return "the beam has " + std::to_string(saved.beam.size()) + " hypotheses; expected 1 to " +
           std::to_string(most);
  }
  std::vector<int32_t> ends;
  for (const Hypothesis& hypothesis : saved.beam) {
    if (!saved.emissions.Has(hypothesis.node)) {
      return "a hypothesis is not in the tree of tokens";
    }
    ends.push_back(hypothesis.node);
    if (!std::isfinite(hypothesis.log_prob)) return "the scores of the hypotheses are not finite";
    if (hypothesis.next_frame < saved.num_frames ||
        hypothesis.next_frame - saved.num_frames > longest) {
      return "a hypothesis reads frame " + std::to_string(hypothesis.next_frame) +
             " next; expected " + std::to_string(saved.num_frames) + ", or at most " +
             std::to_string(longest) + " later";
    }
  }
  return saved.emissions.EachLeadsTo(ends) ? "" : "the tree has tokens that no hypothesis uses";
}

void TransducerBeamSearch::Rebuild(const Saved& saved) {
  state_ = InitialState(saved.num_frames);
  state_.is_finished = saved.is_finished;
  state_.blank_log_prob = saved.blank_log_prob;
  state_.earlier = saved.earlier;
  // By name. The vector holds one reference to each node until the beam does.
  const std::vector<int32_t> nodes =
      saved.emissions.AlongPaths(kRoot, [this](int32_t above, const EmittedToken& emitted) {
        return AddEmission(above, emitted.token, emitted.emission);
      });
  const auto scorers = saved.emissions.AlongPaths(
      scorer_.Start(), [this](PrefixScorer::State scorer, const EmittedToken& emitted) {
        ExtendScorer(&scorer, emitted.token, emitted.emission.log_prob);
        return scorer;
      });
  Release(state_.beam.front());
  state_.beam = saved.beam;
  for (Hypothesis& hypothesis : state_.beam) {
    const auto name = static_cast<size_t>(hypothesis.node);
    hypothesis.node = nodes[name];
    state_.emissions.Acquire(hypothesis.node);
    hypothesis.scorer = scorers[name];
    if (saved.is_finished) scorer_.End(&hypothesis.scorer, 0);
  }
  state_.emissions.ReleaseAll(nodes);
  RankBeam();
}

}  // namespace runnel
