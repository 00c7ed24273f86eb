// Saves and restores the state of a prefix beam search: its trees as lists, parents first.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/search/log_probs.h"
#include "runtime/search/prefix_beam_search.h"
#include "runtime/snapshot/state_fields.h"

namespace runnel {

// Nodes are referred to by their index in the list, from 1 on; 0 is the root.
struct CtcPrefixBeamSearch::SavedNode {
  int32_t parent = 0;
  int32_t token = 0;

  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Value(self.parent);
    fields.Value(self.token);
  }
};

struct CtcPrefixBeamSearch::SavedEmission {
  int32_t parent = 0;
  Emission emission;

  template <class Fields, class Value>
  static void VisitEmission(Value& value, Fields& fields) {
    fields.Counter(value.first_frame);
    fields.Counter(value.last_frame);
    fields.Value(value.log_prob);
  }
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Value(self.parent);
    VisitEmission(self.emission, fields);
  }
};

// prefix.node and the stems of its alignments are such indices.
struct CtcPrefixBeamSearch::SavedPrefix {
  Prefix prefix;

  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Value(self.prefix.node);
    fields.Value(self.prefix.blank);
    fields.Value(self.prefix.non_blank);
    for (auto* alignment : {&self.prefix.best_blank, &self.prefix.best_non_blank}) {
      fields.Value(alignment->score);
      fields.Value(alignment->stem);
      SavedEmission::VisitEmission(alignment->last, fields);
    }
  }
};

struct CtcPrefixBeamSearch::Saved {
  int64_t num_frames = 0;
  int32_t token_before = kNone;
  bool is_finished = false;
  std::vector<SavedNode> prefixes;
  std::vector<SavedEmission> emissions;
  std::vector<SavedPrefix> beam;
};

template <class Self, class Fields>
void CtcPrefixBeamSearch::VisitSaved(Self& saved, Fields& fields) {
  const auto visit_list = [&fields](auto& list, size_t bytes_each) {
    const size_t count = fields.Count(list.size(), bytes_each);
    if constexpr (Fields::kReading) list.resize(count);
    for (auto& item : list) std::decay_t<decltype(item)>::VisitState(item, fields);
  };
  constexpr size_t kEmissionSize = 2 * sizeof(int64_t) + sizeof(float);
  constexpr size_t kAlignmentSize = sizeof(double) + sizeof(int32_t) + kEmissionSize;
  fields.Counter(saved.num_frames);
  fields.Value(saved.token_before);
  fields.Value(saved.is_finished);
  visit_list(saved.prefixes, 2 * sizeof(int32_t));
  visit_list(saved.emissions, sizeof(int32_t) + kEmissionSize);
  visit_list(saved.beam, sizeof(int32_t) + 2 * sizeof(double) + 2 * kAlignmentSize);
}

void CtcPrefixBeamSearch::Save(StateWriter* writer) const {
  std::vector<int32_t> nodes;
  std::vector<int32_t> stems;
  for (const Prefix& prefix : state_.beam) {
    nodes.push_back(prefix.node);
    stems.push_back(prefix.best_blank.stem);
    stems.push_back(prefix.best_non_blank.stem);
  }
  const auto names_of = [](const std::vector<int32_t>& listed, size_t num_slots) {
    std::vector<int32_t> names(num_slots, kRoot);
    for (size_t i = 0; i < listed.size(); ++i) {
      names[static_cast<size_t>(listed[i])] = static_cast<int32_t>(i + 1);
    }
    return names;
  };
  nodes = state_.prefixes.NodesTo(nodes);
  stems = state_.emissions.NodesTo(stems);
  const std::vector<int32_t> node_names = names_of(nodes, state_.prefixes.num_slots());
  const std::vector<int32_t> stem_names = names_of(stems, state_.emissions.num_slots());
  const auto name_of_node = [&](int32_t node) { return node_names[static_cast<size_t>(node)]; };
  const auto name_of_stem = [&](int32_t stem) { return stem_names[static_cast<size_t>(stem)]; };

  Saved saved;
  saved.num_frames = state_.num_frames;
  saved.token_before = state_.token_before;
  saved.is_finished = state_.is_finished;
  for (const int32_t node : nodes) {
    saved.prefixes.push_back(
        {name_of_node(state_.prefixes.parent(node)), state_.prefixes.value(node).token});
  }
  for (const int32_t stem : stems) {
    saved.emissions.push_back(
        {name_of_stem(state_.emissions.parent(stem)), state_.emissions.value(stem)});
  }
  for (const Prefix& prefix : state_.beam) {
    saved.beam.push_back({prefix});
    Prefix& copy = saved.beam.back().prefix;
    copy.node = name_of_node(prefix.node);
    copy.best_blank.stem = name_of_stem(prefix.best_blank.stem);
    copy.best_non_blank.stem = name_of_stem(prefix.best_non_blank.stem);
  }
  const Saved& fields = saved;
  VisitSaved(fields, *writer);
}

void CtcPrefixBeamSearch::Restore(StateReader* reader) {
  Saved saved;
  VisitSaved(saved, *reader);
  reader->Check(Inconsistency(saved));
  Rebuild(saved);
  for (size_t i = 1; i < state_.beam.size(); ++i) {
    reader->Require(state_.beam[i - 1].score() >= state_.beam[i].score(),
                    "the scores of the hypotheses are not descending");
  }
  if (words_ == nullptr) return;
  const auto is_forbidden = [](const Prefix& prefix) { return prefix.word_nodes.empty(); };
  const auto is_complete = [](const Prefix& prefix) {
    return WordTree::IsComplete(prefix.word_nodes);
  };
  const std::vector<Prefix>& beam = state_.beam;
  reader->Require(std::none_of(beam.begin(), beam.end(), is_forbidden),
                  "a hypothesis does not consist of listed words");
  reader->Require(std::any_of(beam.begin(), beam.end(), is_complete),
                  "no hypothesis ends with a complete word");
}

std::string CtcPrefixBeamSearch::Inconsistency(const Saved& saved) const {
  const char* const kWrongFrames = "the frames of a token are out of order or of range";
  const auto is_token = [this](int32_t token) {
    return token >= 0 && token < vocab_size_ && token != blank_id_;
  };
  if (saved.token_before != kNone && !is_token(saved.token_before))
    return "token before the utterance is " + std::to_string(saved.token_before);
  const auto is_right = [&saved](const Emission& emission, int64_t after) {
    return emission.first_frame > after && emission.last_frame >= emission.first_frame &&
           emission.last_frame < saved.num_frames && std::isfinite(emission.log_prob);
  };

  // In both trees parents come before children, siblings differ, and every node leads to a prefix
  // of the beam. The vectors below are indexed as the nodes are.
  const size_t num_nodes = saved.prefixes.size() + 1;
  const size_t num_stems = saved.emissions.size() + 1;
  if (std::max(num_nodes, num_stems) >= std::numeric_limits<int32_t>::max())
    return "a tree has more than 2^31 nodes";
  std::vector<int32_t> node_lengths(num_nodes, 0);
  std::vector<int32_t> stem_lengths(num_stems, 0);
  std::vector<int64_t> stem_ends(num_stems, -1);  // last frames
  std::vector<bool> node_leads(num_nodes);        // to a prefix
  std::vector<bool> stem_leads(num_stems);
  std::vector<std::pair<int32_t, int32_t>> siblings;
  for (size_t i = 1; i < num_nodes; ++i) {
    const auto [parent, token] = saved.prefixes[i - 1];
    if (parent < 0 || static_cast<size_t>(parent) >= i)
      return "the tree of prefixes has a parent after its child";
    if (!is_token(token))
      return "token id is " + std::to_string(token) + "; expected a token that is not the blank";
    node_lengths[i] = node_lengths[static_cast<size_t>(parent)] + 1;
    node_leads[static_cast<size_t>(parent)] = true;
    siblings.emplace_back(parent, token);
  }
  std::sort(siblings.begin(), siblings.end());
  if (std::adjacent_find(siblings.begin(), siblings.end()) != siblings.end()) {
    return "the tree of prefixes has equal siblings";
  }
  for (size_t i = 1; i < num_stems; ++i) {
    const auto& [parent, emission] = saved.emissions[i - 1];
    if (parent < 0 || static_cast<size_t>(parent) >= i)
      return "the tree of emissions has a parent after its child";
    if (!is_right(emission, stem_ends[static_cast<size_t>(parent)])) return kWrongFrames;
    stem_lengths[i] = stem_lengths[static_cast<size_t>(parent)] + 1;
    stem_ends[i] = emission.last_frame;
    stem_leads[static_cast<size_t>(parent)] = true;
  }

  const size_t max_size = beam_size_ + num_firmest_ + (words_ == nullptr ? 0 : 1);
  if (saved.beam.empty() || saved.beam.size() > max_size) {
    return "the beam has " + std::to_string(saved.beam.size()) + " hypotheses; expected 1 to " +
           std::to_string(max_size);
  }
  // The largest sum over so many frames: keeps all further sums finite.
  const double most = static_cast<double>(std::numeric_limits<float>::max()) *
                      (1.0 + static_cast<double>(saved.num_frames));
  const auto is_score = [most](double score) {
    return score == kImpossible || std::abs(score) <= most;  // not of a NaN
  };
  std::vector<bool> in_beam(num_nodes);
  for (const auto& [prefix] : saved.beam) {
    if (prefix.node < 0 || static_cast<size_t>(prefix.node) >= num_nodes)
      return "a hypothesis is not in the tree of prefixes";
    const auto node = static_cast<size_t>(prefix.node);
    if (in_beam[node]) return "the beam has equal hypotheses";
    in_beam[node] = node_leads[node] = true;
    const double total = LogAdd(prefix.blank, prefix.non_blank);
    if (!is_score(prefix.blank) || !is_score(prefix.non_blank) || total == kImpossible) {
      return "the scores of the hypotheses are not finite";
    }
    if (node == kRoot && prefix.non_blank != kImpossible && saved.token_before == kNone)
      return "the empty hypothesis ends in a token";
    for (const auto& [alignment, score] : {std::pair(&prefix.best_blank, prefix.blank),
                                           std::pair(&prefix.best_non_blank, prefix.non_blank)}) {
      const bool is_possible = alignment->score != kImpossible;
      if (!is_score(alignment->score) || is_possible != (score != kImpossible)) {
        return "the score of an alignment does not fit the score of its hypothesis";
      }
      if (alignment->stem < 0 || static_cast<size_t>(alignment->stem) >= num_stems)
        return "an alignment is not in the tree of emissions";
      const auto stem = static_cast<size_t>(alignment->stem);
      stem_leads[stem] = true;
      const int32_t length = is_possible ? std::max(0, node_lengths[node] - 1) : 0;
      if (stem_lengths[stem] != length) return "an alignment and its hypothesis differ in length";
      if (is_possible && node != kRoot && !is_right(alignment->last, stem_ends[stem])) {
        return kWrongFrames;
      }
    }
  }
  const auto all_lead = [](const std::vector<bool>& leads) {
    return std::all_of(leads.begin() + 1, leads.end(), [](bool lead) { return lead; });
  };
  return all_lead(node_leads) && all_lead(stem_leads) ? ""
                                                      : "a tree has nodes that no hypothesis uses";
}

void CtcPrefixBeamSearch::Rebuild(const Saved& saved) {
  state_ = State(words_, scorer_, saved.token_before);
  state_.num_frames = saved.num_frames;
  state_.is_finished = saved.is_finished;
  // The lists hold one reference to each node until the beam does.
  std::vector<int32_t> nodes = {kRoot};
  std::vector<int32_t> stems = {kRoot};
  std::vector<WordTree::Nodes> word_nodes = {state_.beam.front().word_nodes};
  std::vector<PrefixScorer::State> scorers = {state_.beam.front().scorer};
  for (const auto& [parent, token] : saved.prefixes) {
    const int32_t above = nodes[static_cast<size_t>(parent)];
    const int32_t length = state_.prefixes.value(above).length + 1;
    nodes.push_back(state_.prefixes.Add(above, {token, length, kNone}));
    if (words_ != nullptr) {
      word_nodes.push_back(words_->Next(word_nodes[static_cast<size_t>(parent)], token));
    }
    if (scorer_.scores()) {
      scorers.push_back(scorers[static_cast<size_t>(parent)]);
      scorer_.Extend(&scorers.back(), token);
    }
  }
  for (const auto& [parent, emission] : saved.emissions) {
    stems.push_back(state_.emissions.Add(stems[static_cast<size_t>(parent)], emission));
  }
  std::vector<Prefix> beam;
  for (const auto& [prefix] : saved.beam) {
    const auto name = static_cast<size_t>(prefix.node);
    beam.push_back(prefix);
    Prefix& restored = beam.back();
    restored.node = nodes[name];
    restored.last_token = name == 0 ? saved.token_before : saved.prefixes[name - 1].token;
    if (words_ != nullptr) restored.word_nodes = word_nodes[name];
    if (scorer_.scores()) {
      restored.scorer = scorers[name];
      if (saved.is_finished) scorer_.End(&restored.scorer);
      restored.bonus = scorer_.Bonus(restored.scorer);
    }
    restored.total = LogAdd(restored.blank, restored.non_blank);
    state_.prefixes.Acquire(restored.node);
    for (Alignment* alignment : {&restored.best_blank, &restored.best_non_blank}) {
      if (alignment->score == kImpossible) *alignment = Alignment();
      alignment->stem = stems[static_cast<size_t>(alignment->stem)];
      state_.emissions.Acquire(alignment->stem);
    }
  }
  for (const Prefix& prefix : state_.beam) ReleasePrefix(prefix);
  state_.beam = std::move(beam);
  RankBeam();
  for (size_t i = nodes.size(); i > 1; --i) state_.prefixes.Release(nodes[i - 1]);
  for (size_t i = stems.size(); i > 1; --i) state_.emissions.Release(stems[i - 1]);
  UpdateBestPath();
  UpdateNumStable();
}

}  // namespace runnel
