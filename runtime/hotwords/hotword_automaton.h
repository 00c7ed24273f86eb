// Finds hotwords in token sequences, token by token.
//
// This folder implements Hotwords.
#ifndef RUNNEL_RUNTIME_HOTWORDS_HOTWORD_AUTOMATON_H_
#define RUNNEL_RUNTIME_HOTWORDS_HOTWORD_AUTOMATON_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/prefix_tree.h"

namespace runnel {

// An Aho-Corasick automaton (Aho and Corasick 1975, "Efficient string matching: an aid to
// bibliographic search") over the bytes of normalised text. Normalised text has the byte kBoundary
// for each word boundary, and letters of one case if the vocabulary has letters of one case only
// (HotwordSpelling). Tokens are only a way to cut the text: a phrase is found in any tokens that
// spell it.
//
// In a vocabulary with word boundaries a phrase matches between two boundaries. Several boundaries
// in a row count once, the start and the end of an utterance are boundaries, and one boundary can
// end a match and begin the next. In a vocabulary without boundaries a phrase matches anywhere.
//
// The bonus of a token sequence (runtime/hotwords.h) is `completed` + Potential(node), where
// `completed` is 0 at kStart. A search keeps both and never adds a potential to `completed`. Scores
// are rounded to multiples of kScoreUnit, and all sums are exact while `completed` is below 2^33 in
// magnitude. The bonus of a text is thus the same to the last bit however it is cut into tokens,
// and that of an unfinished phrase that is abandoned is 0.
//
// Immutable: every method may be called from several threads.
class HotwordAutomaton {
 public:
  // The end of a sequence: the longest end of its text that begins a phrase.
  using Node = int32_t;
  static constexpr Node kStart = 1;  // of an utterance

  static constexpr char kBoundary = ' ';
  static constexpr double kScoreUnit = 1.0 / (1 << 20);

  struct Phrase {
    std::string text;  // normalised, without the boundaries around it; not empty
    float score = 0;   // per character
  };

  // token_texts: the normalised text of each token; "" for the blank. `phrases`: at least one, with
  // different texts.
  HotwordAutomaton(std::vector<std::string> token_texts, bool has_boundaries,
                   const std::vector<Phrase>& phrases);

  // Appends a token to a sequence that ends at `node`. Returns the node after it, and adds the
  // bonuses of the phrases that it completes to `completed`. The token must be an id of the
  // vocabulary; a blank has no effect. O(bytes of the token), amortised over a sequence.
  Node Next(Node node, int32_t token, double* completed) const;

  // The bonus of the unfinished phrase at the end of the sequence.
  double Potential(Node node) const { return At(node).potential; }

  // The end of an utterance: adds the bonuses of the phrases that it completes. The potential is
  // lost.
  void End(Node node, double* completed) const;

  // An upper bound of the growth of `completed` + potential by one token; at least 0. It is the
  // largest growth by any text that is not longer than the longest token.
  double MostGain(Node node) const { return At(node).most_gain; }

  struct Match {
    size_t phrase = 0;       // index in `phrases`
    size_t first_token = 0;  // index in the sequence; with the phrase's first character
    size_t last_token = 0;   // with its last character
  };
  // The phrases in the tokens of a whole utterance, in the order of their ends; of those with equal
  // ends the longest one. There are thus no more than characters.
  std::vector<Match> Matches(const std::vector<int32_t>& tokens) const;

  int32_t num_nodes() const { return tree_.size(); }

 private:
  // Of the phrases with a boundary before each, and one after each if the vocabulary has
  // boundaries. kStart is the only child of the root.
  using Tree = PrefixTree<uint8_t, std::string>;

  struct State {
    Node failure = 0;           // the node of the longest proper end of this node's text
    Node output = Tree::kNone;  // the node of the longest phrase that ends here, or kNone
    double completed = 0;       // the bonuses of all phrases that end here
    double potential = 0;
    double most_gain = 0;
  };

  // A phrase of `tree_`.
  struct Listed {
    size_t index = 0;      // in the list
    size_t num_bytes = 0;  // of its text
    double score = 0;
  };

  const State& At(Node node) const { return states_[static_cast<size_t>(node)]; }
  State& At(Node node) { return states_[static_cast<size_t>(node)]; }

  // Calls visit(node) after each byte of `text`, except for repeated boundaries; returns the last
  // node.
  template <typename Visit>
  Node Append(Node node, std::string_view text, const Visit& visit) const;
  Node Step(Node node, uint8_t byte) const;

  // The steps of construction.
  static std::vector<std::string> Sort(const std::vector<Phrase>& phrases, bool has_boundaries,
                                       std::vector<Listed>* listed);
  void Link();
  void SetValues();
  void SetMostGains();

  std::vector<std::string> token_texts_;
  bool has_boundaries_;
  // Where no phrase is unfinished. With boundaries: within a word that no phrase begins with, which
  // is the root. Without: kStart.
  Node base_;
  std::vector<Listed> listed_;  // sorted by their bytes
  Tree tree_;
  std::vector<State> states_;            // by node
  std::array<Node, 256> after_start_{};  // the children of kStart, which has many; or kNone
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_HOTWORDS_HOTWORD_AUTOMATON_H_
