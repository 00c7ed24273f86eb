// Saves and restores the state of a prefix beam search: its trees as lists, parents first.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/search/log_probs.h"
#include "runtime/search/prefix_beam_search.h"
#include "runtime/snapshot/state_fields.h"

namespace runnel {

struct CtcPrefixBeamSearch::Saved {
  int64_t num_frames = 0;
  int32_t token_before = kNone;
  bool is_finished = false;
  ListedTree<PrefixNode> prefixes;
  ListedTree<Emission> emissions;
  std::vector<Prefix> beam;  // whose nodes and stems are names of the lists
};

template <class Self, class Fields>
void CtcPrefixBeamSearch::VisitSaved(Self& saved, Fields& fields) {
  constexpr size_t kAlignmentSize = sizeof(double) + sizeof(int32_t) + Emission::kSavedSize;
  constexpr size_t kPrefixSize = sizeof(int32_t) + 2 * sizeof(double) + 2 * kAlignmentSize;
  const auto visit_emission = [&fields](auto& emission) { Emission::VisitState(emission, fields); };
  fields.Counter(saved.num_frames);
  fields.Value(saved.token_before);
  fields.Value(saved.is_finished);
  ListedTree<PrefixNode>::VisitState(saved.prefixes, fields, sizeof(int32_t),
                                     [&fields](auto& node) { fields.Value(node.token); });
  ListedTree<Emission>::VisitState(saved.emissions, fields, Emission::kSavedSize, visit_emission);
  VisitList(saved.beam, fields, kPrefixSize, [&](auto& prefix) {
    fields.Value(prefix.node);
    fields.Value(prefix.blank);
    fields.Value(prefix.non_blank);
    for (auto* alignment : {&prefix.best_blank, &prefix.best_non_blank}) {
      fields.Value(alignment->score);
      fields.Value(alignment->stem);
      visit_emission(alignment->last);
    }
  });
}

void CtcPrefixBeamSearch::Save(StateWriter* writer) const {
  std::vector<int32_t> nodes;
  std::vector<int32_t> stems;
  for (const Prefix& prefix : state_.beam) {
    nodes.push_back(prefix.node);
    stems.push_back(prefix.best_blank.stem);
    stems.push_back(prefix.best_non_blank.stem);
  }
  Saved saved;
  saved.num_frames = state_.num_frames;
  saved.token_before = state_.token_before;
  saved.is_finished = state_.is_finished;
  saved.prefixes = {state_.prefixes, nodes};
  saved.emissions = {state_.emissions, stems};
  saved.beam = state_.beam;
  for (Prefix& prefix : saved.beam) {
    prefix.node = saved.prefixes.NameOf(prefix.node);
    for (Alignment* alignment : {&prefix.best_blank, &prefix.best_non_blank}) {
      alignment->stem = saved.emissions.NameOf(alignment->stem);
    }
  }
  VisitSaved(std::as_const(saved), *writer);
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
  std::string problem = saved.prefixes.Problem("prefixes");
  if (problem.empty()) problem = saved.emissions.Problem("emissions");
  for (const auto& [parent, node] : saved.prefixes.nodes()) {
    if (problem.empty()) problem = TokenIdProblem(node.token, vocab_size_, blank_id_);
  }
  if (!problem.empty()) return problem;
  if (saved.token_before != kNone &&
      !TokenIdProblem(saved.token_before, vocab_size_, blank_id_).empty()) {
    return "token before the utterance is " + std::to_string(saved.token_before);
  }
  std::vector<std::pair<int32_t, int32_t>> siblings;
  for (const auto& [parent, node] : saved.prefixes.nodes()) {
    siblings.emplace_back(parent, node.token);
  }
  std::sort(siblings.begin(), siblings.end());
  if (std::adjacent_find(siblings.begin(), siblings.end()) != siblings.end()) {
    return "the tree of prefixes has equal siblings";
  }

  const char* const kWrongFrames = "the frames of a token are out of order or of range";
  const auto is_right = [&saved](const Emission& emission, int64_t begin) {
    return emission.IsWithin(begin, saved.num_frames) && emission.last_frame < saved.num_frames;
  };
  // By name.
  const auto count = [](int32_t length, const auto& /*value*/) { return length + 1; };
  const std::vector<int32_t> node_lengths = saved.prefixes.AlongPaths(0, count);
  const std::vector<int32_t> stem_lengths = saved.emissions.AlongPaths(0, count);
  const std::vector<int64_t> stem_ends = saved.emissions.AlongPaths(
      int64_t{0}, [](int64_t, const Emission& emission) { return emission.last_frame + 1; });
  for (const auto& [parent, emission] : saved.emissions.nodes()) {
    if (!is_right(emission, stem_ends[static_cast<size_t>(parent)])) return kWrongFrames;
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
  std::vector<bool> in_beam(node_lengths.size());
  std::vector<int32_t> node_names;
  std::vector<int32_t> stem_names;
  for (const Prefix& prefix : saved.beam) {
    if (!saved.prefixes.Has(prefix.node)) return "a hypothesis is not in the tree of prefixes";
    const auto node = static_cast<size_t>(prefix.node);
    if (in_beam[node]) return "the beam has equal hypotheses";
    in_beam[node] = true;
    node_names.push_back(prefix.node);
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
      if (!saved.emissions.Has(alignment->stem))
        return "an alignment is not in the tree of emissions";
      const auto stem = static_cast<size_t>(alignment->stem);
      stem_names.push_back(alignment->stem);
      const int32_t length = is_possible ? std::max(0, node_lengths[node] - 1) : 0;
      if (stem_lengths[stem] != length) return "an alignment and its hypothesis differ in length";
      if (is_possible && node != kRoot && !is_right(alignment->last, stem_ends[stem])) {
        return kWrongFrames;
      }
    }
  }
  return saved.prefixes.EachLeadsTo(node_names) && saved.emissions.EachLeadsTo(stem_names)
             ? ""
             : "a tree has nodes that no hypothesis uses";
}

void CtcPrefixBeamSearch::Rebuild(const Saved& saved) {
  state_ = State(words_, scorer_, saved.token_before);
  state_.num_frames = saved.num_frames;
  state_.is_finished = saved.is_finished;
  // By name. These vectors hold one reference to each node until the beam does.
  const std::vector<int32_t> nodes = saved.prefixes.AlongPaths(
      kRoot,
      [this](int32_t above, const PrefixNode& node) { return state_.prefixes.Add(above, node); });
  const std::vector<int32_t> stems =
      saved.emissions.AlongPaths(kRoot, [this](int32_t above, const Emission& emission) {
        return state_.emissions.Add(above, emission);
      });
  const auto scorers = saved.prefixes.AlongPaths(
      scorer_.Start(), [this](PrefixScorer::State scorer, const PrefixNode& node) {
        scorer_.Extend(&scorer, node.token);
        return scorer;
      });
  std::vector<WordTree::Nodes> word_nodes;
  if (words_ != nullptr) {
    word_nodes = saved.prefixes.AlongPaths(
        WordTree::Start(), [this](const WordTree::Nodes& above, const PrefixNode& node) {
          return words_->Next(above, node.token);
        });
  }
  std::vector<Prefix> beam = saved.beam;
  for (Prefix& restored : beam) {
    const auto name = static_cast<size_t>(restored.node);
    restored.node = nodes[name];
    restored.last_token = name == 0 ? saved.token_before : state_.prefixes.value(nodes[name]).token;
    if (words_ != nullptr) restored.word_nodes = word_nodes[name];
    restored.scorer = scorers[name];
    if (saved.is_finished) scorer_.End(&restored.scorer);
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
  state_.prefixes.ReleaseAll(nodes);
  state_.emissions.ReleaseAll(stems);
  state_.prefixes.Follow(state_.beam);
}

}  // namespace runnel
