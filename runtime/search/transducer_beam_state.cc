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

// Nodes are referred to by their index in the list, from 1 on; 0 is the root.
struct TransducerBeamSearch::Saved {
  struct Node {
    int32_t parent = 0;
    Emission emission;
  };
  int64_t num_frames = 0;
  bool is_finished = false;
  float blank_log_prob = 0;
  std::vector<Node> nodes;
  std::vector<Hypothesis> beam;  // whose nodes are such indices
};

template <class Self, class Fields>
void TransducerBeamSearch::VisitSaved(const Transducer& transducer, Self& saved, Fields& fields) {
  fields.Counter(saved.num_frames);
  fields.Value(saved.is_finished);
  fields.Value(saved.blank_log_prob);
  constexpr size_t kNodeSize = 2 * sizeof(int32_t) + 2 * sizeof(int64_t) + sizeof(float);
  const size_t num_nodes = fields.Count(saved.nodes.size(), kNodeSize);
  if constexpr (Fields::kReading) saved.nodes.resize(num_nodes);
  for (auto& node : saved.nodes) {
    fields.Value(node.parent);
    fields.Value(node.emission.token);
    fields.Counter(node.emission.first_frame);
    fields.Counter(node.emission.last_frame);
    fields.Value(node.emission.log_prob);
  }
  constexpr size_t kHypothesisSize = sizeof(int32_t) + sizeof(double) + sizeof(int64_t);
  const size_t num_hypotheses = fields.Count(saved.beam.size(), kHypothesisSize);
  if constexpr (Fields::kReading) saved.beam.resize(num_hypotheses);
  for (auto& hypothesis : saved.beam) {
    fields.Value(hypothesis.node);
    fields.Value(hypothesis.log_prob);
    fields.Counter(hypothesis.next_frame);
    VisitPredictorState(transducer, hypothesis.predictor, fields);
  }
}

void TransducerBeamSearch::Save(StateWriter* writer) const {
  Saved saved;
  saved.num_frames = state_.num_frames;
  saved.is_finished = state_.is_finished;
  saved.blank_log_prob = state_.blank_log_prob;
  std::vector<int32_t> ends;
  for (const Hypothesis& hypothesis : state_.beam) ends.push_back(hypothesis.node);
  const std::vector<int32_t> nodes = state_.emissions.NodesTo(ends);
  std::vector<int32_t> names(state_.emissions.num_slots(), kRoot);
  for (size_t i = 0; i < nodes.size(); ++i) {
    names[static_cast<size_t>(nodes[i])] = static_cast<int32_t>(i + 1);
    const int32_t parent = state_.emissions.parent(nodes[i]);
    saved.nodes.push_back({names[static_cast<size_t>(parent)], state_.emissions.value(nodes[i])});
  }
  saved.beam = state_.beam;
  for (Hypothesis& hypothesis : saved.beam) {
    hypothesis.node = names[static_cast<size_t>(hypothesis.node)];
  }
  const Saved& fields = saved;
  VisitSaved(*transducer_, fields, *writer);
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
  const size_t num_nodes = saved.nodes.size() + 1;
  if (num_nodes >= std::numeric_limits<int32_t>::max()) return "the tree has more than 2^31 nodes";
  const int64_t longest = config.durations.empty()
                              ? 1
                              : std::max<int64_t>(1, *std::max_element(config.durations.begin(),
                                                                       config.durations.end()));
  std::vector<bool> leads(num_nodes);  // to a hypothesis
  for (size_t i = 1; i < num_nodes; ++i) {
    const auto& [parent, emission] = saved.nodes[i - 1];
    if (parent < 0 || static_cast<size_t>(parent) >= i) {
      return "the tree of tokens has a parent after its child";
    }
    if (emission.token < 0 || emission.token >= config.vocab_size ||
        emission.token == config.blank_id) {
      return "token id is " + std::to_string(emission.token) +
             "; expected a token that is not the blank";
    }
    const int64_t begin =
        parent == 0 ? 0 : saved.nodes[static_cast<size_t>(parent) - 1].emission.first_frame;
    const bool is_right =
        emission.first_frame >= begin && emission.first_frame < saved.num_frames &&
        emission.last_frame >= emission.first_frame &&
        emission.last_frame - emission.first_frame < longest && std::isfinite(emission.log_prob);
    if (!is_right) return "the frames of a token are out of order or of range";
    leads[static_cast<size_t>(parent)] = true;
  }
  const size_t most = (beam_size_ + num_firmest_) * static_cast<size_t>(longest);
  if (saved.beam.empty() || saved.beam.size() > most) {
    return "the beam has " + std::to_string(saved.beam.size()) + " hypotheses; expected 1 to " +
           std::to_string(most);
  }
  for (const Hypothesis& hypothesis : saved.beam) {
    if (hypothesis.node < 0 || static_cast<size_t>(hypothesis.node) >= num_nodes) {
      return "a hypothesis is not in the tree of tokens";
    }
    leads[static_cast<size_t>(hypothesis.node)] = true;
    if (!std::isfinite(hypothesis.log_prob)) return "the scores of the hypotheses are not finite";
    if (hypothesis.next_frame < saved.num_frames ||
        hypothesis.next_frame - saved.num_frames > longest) {
      return "a hypothesis reads frame " + std::to_string(hypothesis.next_frame) +
             " next; expected " + std::to_string(saved.num_frames) + ", or at most " +
             std::to_string(longest) + " later";
    }
  }
  const bool all_lead = std::all_of(leads.begin() + 1, leads.end(), [](bool lead) { return lead; });
  return all_lead ? "" : "the tree has tokens that no hypothesis uses";
}

void TransducerBeamSearch::Rebuild(const Saved& saved) {
  state_ = InitialState(saved.num_frames);
  state_.is_finished = saved.is_finished;
  state_.blank_log_prob = saved.blank_log_prob;
  // The list holds one reference to each node until the beam does.
  std::vector<int32_t> nodes = {kRoot};
  std::vector<PrefixScorer::State> scorers = {state_.beam.front().scorer};
  for (const auto& [parent, emission] : saved.nodes) {
    const int32_t above = nodes[static_cast<size_t>(parent)];
    nodes.push_back(AddEmission(above, emission));
    if (!scorer_.scores()) continue;
    scorers.push_back(scorers[static_cast<size_t>(parent)]);
    scorer_.Extend(&scorers.back(), emission.token);
  }
  Release(state_.beam.front());
  state_.beam.clear();
  for (Hypothesis hypothesis : saved.beam) {
    const auto name = static_cast<size_t>(hypothesis.node);
    hypothesis.node = nodes[name];
    state_.emissions.Acquire(hypothesis.node);
    if (scorer_.scores()) {
      hypothesis.scorer = scorers[name];
      if (saved.is_finished) scorer_.End(&hypothesis.scorer);
      SetBonus(&hypothesis);
    }
    state_.beam.push_back(std::move(hypothesis));
  }
  for (size_t i = nodes.size(); i > 1; --i) state_.emissions.Release(nodes[i - 1]);
  RankBeam();
}

}  // namespace runnel
