// The model's output units and how a sequence of them becomes text and words.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools.
#ifndef RUNNEL_RUNTIME_TOKEN_TABLE_H_
#define RUNNEL_RUNTIME_TOKEN_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.h"

namespace runnel {

// How a text ends that is joined token by token; the empty text at first.
struct TextEnd {
  bool is_empty = true;
  bool at_boundary = false;  // a space is due before the next symbol
};

// Immutable after construction; every method may be called from several threads.
//
// U+2581 in a symbol, alone or with others (SentencePiece puts it in front), is a word boundary.
// Other symbols are joined as they are. Where no symbol but the blank has a U+2581, as in tables of
// Chinese characters, the text has no spaces and every token is a word of its own.
class TokenTable {
 public:
  // `units_text`: one "symbol id" per line (UTF-8), ids 0..vocab_size-1 each once, in any order, no
  // symbol twice; lines may end in CRLF, and empty lines at the end are ignored. Throws
  // std::runtime_error naming `source`, the line that is wrong and what was expected;
  // std::invalid_argument when blank_id is not an id below vocab_size.
  TokenTable(const std::string& units_text, int vocab_size, int blank_id,
             const std::string& source);

  int size() const { return static_cast<int>(symbols_.size()); }
  int32_t blank_id() const { return blank_id_; }

  // As in the file. Throws std::invalid_argument when `id` is not one of the table's.
  const std::string& symbol(int32_t id) const { return symbols_[Index(id)]; }

  // Joined symbols, word boundaries as single spaces, none at the ends; blanks are left out. Throws
  // std::invalid_argument when an id is not one of the table's.
  std::string Text(const std::vector<int32_t>& ids) const;

  // Appends to `text` what one more token adds to a Text that ends as `end` says, and updates
  // `end`. Throws std::invalid_argument as Text does.
  void AppendText(int32_t id, TextEnd* end, std::string* text) const;

  // The words of timed tokens. A token without text, such as a boundary alone, counts for no word.
  // With word boundaries, the words joined by spaces are Text; without, joined by nothing.
  std::vector<Word> Words(const std::vector<Token>& tokens) const;

 private:
  size_t Index(int32_t id) const;

  std::vector<std::string> symbols_;
  std::vector<std::string> texts_;  // symbols with a space for U+2581; the blank's is empty
  int32_t blank_id_;
  bool has_boundaries_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TOKEN_TABLE_H_
