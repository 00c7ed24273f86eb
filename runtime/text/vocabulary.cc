#include "runtime/text/vocabulary.h"

#include <stdexcept>
#include <string>

#include "runtime/text/utf8.h"
#include "runtime/token_table.h"

namespace runnel {

void CheckVocabulary(int vocab_size, int blank_id) {
  if (vocab_size < 1) {
    throw std::invalid_argument("vocab_size must be at least 1, got " + std::to_string(vocab_size));
  }
  if (blank_id < 0 || blank_id >= vocab_size) {
    throw std::invalid_argument("blank_id must be 0 to " + std::to_string(vocab_size - 1) +
                                ", got " + std::to_string(blank_id));
  }
}

void CheckSameVocabulary(const char* what, int vocab_size, int blank_id, int model_vocab_size,
                         int model_blank_id) {
  if (vocab_size == model_vocab_size && blank_id == model_blank_id) return;
  throw std::invalid_argument(
      std::string(what) + " is of a model with " + std::to_string(vocab_size) + " tokens, blank " +
      std::to_string(blank_id) + ", expected " + std::to_string(model_vocab_size) +
      " tokens, blank " + std::to_string(model_blank_id));
}

bool IsBracketed(std::string_view name) {
  return name.size() > 1 && name.front() == '<' && name.back() == '>';
}

std::string SpacedText(std::string_view text) {
  std::string spaced;
  bool at_boundary = false;
  for (const std::string_view character : SplitCharacters(text)) {
    if (character == " " || character == TokenTable::kWordBoundary) {
      at_boundary = true;
      continue;
    }
    if (at_boundary && !spaced.empty()) spaced += ' ';
    at_boundary = false;
    spaced += character;
  }
  return spaced;
}

}  // namespace runnel
