#include "runtime/hotwords/hotword_automaton.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "runtime/text/utf8.h"

namespace runnel {
namespace {

constexpr std::string_view kBoundaryText(&HotwordAutomaton::kBoundary, 1);

bool IsCounted(char byte) { return BeginsCharacter(byte) && byte != HotwordAutomaton::kBoundary; }

}  // namespace

HotwordAutomaton::HotwordAutomaton(std::vector<std::string> token_texts, bool has_boundaries,
                                   const std::vector<Phrase>& phrases)
    : token_texts_(std::move(token_texts)),
      has_boundaries_(has_boundaries),
      base_(has_boundaries ? Tree::kRoot : kStart),
      tree_(Sort(phrases, has_boundaries, &listed_)),
      states_(static_cast<size_t>(tree_.size())) {
  for (size_t byte = 0; byte < after_start_.size(); ++byte) {
    after_start_[byte] = tree_.Child(kStart, static_cast<uint8_t>(byte));
  }
  Link();
  SetValues();
  SetMostGains();
}

// The texts of `tree_`, and what belongs to them.
std::vector<std::string> HotwordAutomaton::Sort(const std::vector<Phrase>& phrases,
                                                bool has_boundaries, std::vector<Listed>* listed) {
  std::vector<size_t> order(phrases.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<std::string> texts;
  for (const Phrase& phrase : phrases) {
    texts.push_back(kBoundary + phrase.text);
    if (has_boundaries) texts.back() += kBoundary;
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return texts[a] < texts[b]; });
  std::vector<std::string> sorted;
  for (const size_t index : order) {
    const Phrase& phrase = phrases[index];
    const double score = std::round(static_cast<double>(phrase.score) / kScoreUnit) * kScoreUnit;
    listed->push_back({index, phrase.text.size(), score});
    sorted.push_back(std::move(texts[index]));
  }
  return sorted;
}

// Failure and output links. Those of a node lead to nodes with shorter texts, which come before it.
void HotwordAutomaton::Link() {
  At(Tree::kRoot).failure = base_;
  for (Node parent = 0; parent < tree_.size(); ++parent) {
    const Tree::Node& node = tree_.At(parent);
    for (Node child = node.first_child; child < node.end_child; ++child) {
      const bool is_shortest = parent == base_ || child == kStart;
      State& state = At(child);
      state.failure = is_shortest ? base_ : Step(At(parent).failure, tree_.At(child).label);
      const bool ends_phrase = tree_.At(child).sequence != Tree::kNone;
      state.output = ends_phrase ? child : At(state.failure).output;
    }
  }
}

void HotwordAutomaton::SetValues() {
  constexpr double kNoPhrase = -std::numeric_limits<double>::infinity();
  const auto num_nodes = static_cast<size_t>(tree_.size());
  // The number of characters on a node's path, and the largest score of the phrases that continue
  // it. Phrases that end at the node are already completed there.
  std::vector<double> num_characters(num_nodes);
  std::vector<double> best_score(num_nodes, kNoPhrase);
  const auto phrase_at = [this](Node node) -> const Listed* {
    const int32_t sequence = tree_.At(node).sequence;
    return sequence == Tree::kNone ? nullptr : &listed_[static_cast<size_t>(sequence)];
  };
  for (Node parent = tree_.size() - 1; parent >= 0; --parent) {
    double& best = best_score[static_cast<size_t>(parent)];
    for (Node child = tree_.At(parent).first_child; child < tree_.At(parent).end_child; ++child) {
      best = std::max(best, best_score[static_cast<size_t>(child)]);
      if (const Listed* phrase = phrase_at(child)) best = std::max(best, phrase->score);
    }
  }
  for (Node node = 0; node < tree_.size(); ++node) {
    const auto index = static_cast<size_t>(node);
    State& state = At(node);
    const State& shorter = At(state.failure);
    const bool continues = best_score[index] != kNoPhrase;
    // Never negative: other words may begin like a phrase that is avoided.
    state.potential =
        continues ? std::max(best_score[index], 0.0) * num_characters[index] : shorter.potential;
    if (node != base_) state.completed = shorter.completed;
    if (const Listed* phrase = phrase_at(node)) {
      state.completed += phrase->score * num_characters[index];
    }
    for (Node child = tree_.At(node).first_child; child < tree_.At(node).end_child; ++child) {
      const bool is_counted = IsCounted(static_cast<char>(tree_.At(child).label));
      num_characters[static_cast<size_t>(child)] = num_characters[index] + (is_counted ? 1 : 0);
    }
  }
}

// By induction over the length of a text: the largest sum of completed bonuses and the potential
// after it, or after a part of it.
void HotwordAutomaton::SetMostGains() {
  size_t longest = 0;
  for (const std::string& text : token_texts_) longest = std::max(longest, text.size());
  std::vector<double> best;
  for (const State& state : states_) best.push_back(state.potential);
  bool has_changed = true;
  for (size_t length = 1; length <= longest && has_changed; ++length) {
    has_changed = false;
    // In ascending order, so that children still have the values of length - 1, and failure links
    // already those of this length.
    for (Node node = 0; node < tree_.size(); ++node) {
      double most =
          std::max(best[static_cast<size_t>(node)], best[static_cast<size_t>(At(node).failure)]);
      for (Node child = tree_.At(node).first_child; child < tree_.At(node).end_child; ++child) {
        most = std::max(most, At(child).completed + best[static_cast<size_t>(child)]);
      }
      has_changed = has_changed || most != best[static_cast<size_t>(node)];
      best[static_cast<size_t>(node)] = most;
    }
  }
  for (size_t i = 0; i < states_.size(); ++i) {
    states_[i].most_gain = best[i] - states_[i].potential;
  }
}

HotwordAutomaton::Node HotwordAutomaton::Step(Node node, uint8_t byte) const {
  while (true) {
    const Node child = node == kStart ? after_start_[byte] : tree_.Child(node, byte);
    if (child != Tree::kNone) return child;
    if (node == base_) return base_;
    node = At(node).failure;
  }
}

template <typename Visit>
HotwordAutomaton::Node HotwordAutomaton::Append(Node node, std::string_view text,
                                                const Visit& visit) const {
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    // Every phrase begins with a boundary, so the node after one has it at its end.
    if (c == kBoundary && tree_.At(node).label == byte) continue;
    node = Step(node, byte);
    visit(node);
  }
  return node;
}

HotwordAutomaton::Node HotwordAutomaton::Next(Node node, int32_t token, double* completed) const {
  return Append(node, token_texts_[static_cast<size_t>(token)],
                [this, completed](Node after) { *completed += At(after).completed; });
}

void HotwordAutomaton::End(Node node, double* completed) const {
  if (!has_boundaries_) return;
  Append(node, kBoundaryText, [this, completed](Node after) { *completed += At(after).completed; });
}

std::vector<HotwordAutomaton::Match> HotwordAutomaton::Matches(
    const std::vector<int32_t>& tokens) const {
  std::vector<Match> matches;
  std::vector<size_t> token_of = {0};  // by byte of the text; the first boundary is before it
  const size_t num_end_bytes = has_boundaries_ ? 1 : 0;
  size_t token = 0;
  const auto visit = [&](Node node) {
    token_of.push_back(token);
    const Node output = At(node).output;
    if (output == Tree::kNone) return;
    const Listed& phrase = listed_[static_cast<size_t>(tree_.At(output).sequence)];
    const size_t end = token_of.size() - num_end_bytes;
    matches.push_back({phrase.index, token_of[end - phrase.num_bytes], token_of[end - 1]});
  };
  Node node = kStart;
  for (; token < tokens.size(); ++token) {
    node = Append(node, token_texts_[static_cast<size_t>(tokens[token])], visit);
  }
  if (has_boundaries_) Append(node, kBoundaryText, visit);
  return matches;
}

}  // namespace runnel
