// The words that a constrained search may find, as a prefix tree of token ids.
// Flow: packets -> frontend -> encoder -> runtime (this, below ctc_search) -> tools.
// The file format is that of Kaldi's lexicon.txt and of flashlight's lexicon files.
#ifndef RUNNEL_RUNTIME_LEXICON_H_
#define RUNNEL_RUNTIME_LEXICON_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/token_table.h"

namespace runnel {

// A token sequence is *complete* when it is a sequence of spellings, the empty one included, and
// *allowed* when more tokens could make it complete. Immutable after construction; every method may
// be called from several threads.
class Lexicon {
 public:
  // Where in the tree an allowed sequence may be, in ascending order, the root when it is complete.
  // Usually one place, or two after a word with which another begins; more where words can be cut
  // differently, as Chinese ones. Never more than the longest spelling has tokens, plus one.
  using Places = std::vector<int32_t>;

  // The largest text that is taken for a word list, in bytes.
  static constexpr size_t kMaxTextSize = size_t{1} << 23;

  // `text` (UTF-8), one spelling per line, fields separated by spaces or tabs:
  //   WORD unit unit ...   a word and the symbols of `tokens` that spell it
  //   WORD                 spelled by its characters, the word boundary before them if the model
  //                        has one; only for models whose units are single characters
  // A word may have several lines. The units must give the word as text: what comes out are units,
  // so nothing but the listed words can. U+2581 within WORD stands for a space ("turn▁on"). With
  // word boundaries, either every spelling begins with one or every spelling ends with one, so that
  // words cannot run together. Empty lines and lines that begin with # are ignored; lines may end
  // in CRLF, and the text may begin with a byte order mark. Throws std::runtime_error "source:line:
  // what is wrong", or naming `source` when no word is listed or the text is larger than
  // kMaxTextSize.
  Lexicon(const std::string& text, const TokenTable& tokens, const std::string& source);

  // Reads `path` as above. Throws std::runtime_error also when it cannot be read.
  static std::shared_ptr<const Lexicon> Read(const std::string& path, const TokenTable& tokens);

  // Of the model whose tokens these are; a search checks them against its own.
  int vocab_size() const { return vocab_size_; }
  int32_t blank_id() const { return blank_id_; }

  // Names the tree: 32 lower-case hexadecimal digits, the same for the same words and tokens.
  const std::string& fingerprint() const { return fingerprint_; }

  // Of the empty sequence.
  static Places Start() { return {kRoot}; }
  static bool IsComplete(const Places& places) { return places.front() == kRoot; }

  // The tokens that may follow, each once, in ascending order; replaces what `tokens` held.
  void TokensAfter(const Places& places, std::vector<int32_t>* tokens) const;

  // Where one of these tokens leads to.
  Places Next(const Places& places, int32_t token) const;

  // Whether it leads to a complete sequence.
  bool CompletesWord(const Places& places, int32_t token) const;

  size_t num_nodes() const { return nodes_.size(); }

 private:
  static constexpr int32_t kRoot = 0;
  static constexpr int32_t kNone = -1;
  using Spelling = std::vector<int32_t>;

  // The children of a node lie side by side, in ascending order of their tokens.
  struct Node {
    int32_t token = kNone;  // that leads here
    int32_t first_child = 0;
    int32_t end_child = 0;
    bool ends_word = false;
  };

  // `spellings` sorted, none empty, none twice.
  void BuildTree(const std::vector<Spelling>& spellings);
  int32_t Child(int32_t node, int32_t token) const;  // or kNone
  const Node& At(int32_t node) const { return nodes_[static_cast<size_t>(node)]; }

  int vocab_size_;
  int32_t blank_id_;
  std::vector<Node> nodes_;
  std::string fingerprint_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LEXICON_H_
