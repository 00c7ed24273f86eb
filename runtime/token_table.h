// The model's output units and how a sequence of them becomes text and words.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools.
#ifndef RUNNEL_RUNTIME_TOKEN_TABLE_H_
#define RUNNEL_RUNTIME_TOKEN_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/result.h"

namespace runnel {

// Immutable after construction; every method may be called from several threads.
class TokenTable {
 public:
  // `units_text`: one "symbol id" per line (UTF-8), ids 0..vocab_size-1 each once, in any order;
  // U+2581 in a symbol marks a word boundary. Throws std::runtime_error naming `source` and the
  // line that is wrong.
  TokenTable(const std::string& units_text, int vocab_size, int blank_id,
             const std::string& source);

  int size() const { return static_cast<int>(symbols_.size()); }
  const std::string& symbol(int32_t id) const { return symbols_.at(static_cast<size_t>(id)); }

  // Joined symbols, word boundaries as single spaces, none at the ends.
  std::string Text(const std::vector<int32_t>& ids) const;

  // The words of timed tokens.
  std::vector<Word> Words(const std::vector<Token>& tokens) const;

 private:
  std::vector<std::string> symbols_;
  int blank_id_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TOKEN_TABLE_H_
