#include "runtime/ngram/nemo_words.h"

#include <cstddef>
#include <cstdio>

#include "runtime/text/utf8.h"
#include "runtime/text/vocabulary.h"

namespace runnel {
namespace {

constexpr char32_t kOffset = 100;

std::string Hexadecimal(char32_t code_point) {
  char text[16];
  std::snprintf(text, sizeof(text), "U+%04X", static_cast<unsigned>(code_point));
  return text;
}

}  // namespace

NemoWords::NemoWords(const TokenTable& tokens) {
  for (int32_t token = 0; token < tokens.size(); ++token) {
    const std::string& name = tokens.name(token);
    names_.push_back(IsBracketed(name) ? "<token:" + std::to_string(token) + ">" : name);
  }
}

std::optional<int32_t> NemoWords::TokenOf(std::string_view word, int num_tokens) {
  if (!IsUtf8(word) || SplitCharacters(word).size() != 1) return std::nullopt;
  const char32_t character = CodePoint(word);
  if (character < kOffset || character - kOffset >= static_cast<char32_t>(num_tokens)) {
    return std::nullopt;
  }
  return static_cast<int32_t>(character - kOffset);
}

std::optional<std::string_view> NemoWords::Decoded(std::string_view word) const {
  if (IsBracketed(word)) return word;
  const std::optional<int32_t> token = TokenOf(word, static_cast<int>(names_.size()));
  if (!token) return std::nullopt;
  return names_[static_cast<size_t>(*token)];
}

std::string NemoWords::Expected() const {
  return "a character from " + Hexadecimal(kOffset) + " to " +
         Hexadecimal(kOffset + static_cast<char32_t>(names_.size()) - 1) +
         ", as NeMo writes the tokens of the model";
}

}  // namespace runnel
