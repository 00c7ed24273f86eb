// What a model file says of the tokens of its vocabulary, beside their names.
#ifndef RUNNEL_RUNTIME_TOKEN_KINDS_H_
#define RUNNEL_RUNTIME_TOKEN_KINDS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace runnel {

// What a token stands for if not for the characters of its name.
enum class TokenKind {
  kHidden,    // no text: a speaker's tag, <s>, <pad>
  kLanguage,  // no text, but the language of the utterance: <en-US>
  kEnd,       // no text, but the end of the utterance: <EOU>
  kByte,      // one byte of UTF-8, which its name tells: <0xE4>
};

struct SpecialToken {
  int32_t id = 0;
  TokenKind kind = TokenKind::kHidden;
  std::string language;  // of kLanguage, such as "en-US"; else ""
};

// A part of a vocabulary that was made for one language.
struct LanguageVocabulary {
  std::string language;
  int size = 0;  // tokens
};

struct TokenKinds {
  std::vector<SpecialToken> special;  // no id twice
  // In the order of their tokens, the first of which has id 0. A token may be in several of them.
  // Empty: the vocabulary is of no language, or of all. Tokens after them belong to no language.
  std::vector<LanguageVocabulary> vocabularies;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TOKEN_KINDS_H_
