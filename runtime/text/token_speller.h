// Whether the tokens of a model can spell a text.
#ifndef RUNNEL_RUNTIME_TEXT_TOKEN_SPELLER_H_
#define RUNNEL_RUNTIME_TEXT_TOKEN_SPELLER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/prefix_tree.h"

namespace runnel {

// Immutable after construction: every method may be called from several threads.
class TokenSpeller {
 public:
  static constexpr char kBoundary = ' ';  // between words
  static constexpr size_t kSpelled = std::string_view::npos;

  // `token_texts`: of the tokens that may spell, with kBoundary for a word boundary. Empty ones
  // spell nothing.
  explicit TokenSpeller(std::vector<std::string> token_texts);

  // The index in `text` up to which tokens can spell it, or kSpelled when they can spell all of it.
  // `text`: words joined by one kBoundary. It begins and ends with a kBoundary where other words
  // may stand before and after it; the token before or after may have that boundary too.
  size_t FirstUnspelled(std::string_view text) const;

 private:
  using Tree = PrefixTree<uint8_t, std::string>;

  // Marks in `reached` the ends of all tokens that begin at `begin` of the text.
  void MarkTokenEnds(std::string_view text, size_t begin, std::vector<char>* reached) const;

  std::unique_ptr<const Tree> tokens_;  // null when no token has text
  bool boundary_begins_token_ = false;  // some token
  bool boundary_ends_token_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_TOKEN_SPELLER_H_
