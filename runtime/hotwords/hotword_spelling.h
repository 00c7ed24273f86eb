// The normalised text in which hotwords are compared with tokens.
#ifndef RUNNEL_RUNTIME_HOTWORDS_HOTWORD_SPELLING_H_
#define RUNNEL_RUNTIME_HOTWORDS_HOTWORD_SPELLING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/text/letter_case.h"
#include "runtime/text/token_speller.h"

namespace runnel {

class TokenTable;

// Normalises tokens and phrases for one vocabulary, and checks that its tokens can spell a phrase.
//
// A word boundary is one HotwordAutomaton::kBoundary. When all letters of the tokens are lower
// case, or all are upper case, phrases are converted to that case; else they are kept. Special
// tokens are no text: a phrase goes on after one. Byte tokens spell what other tokens do not,
// except characters of scripts without spaces. A token in angle brackets that is text, such as
// <unk>, has no letters and spells nothing.
class HotwordSpelling {
 public:
  explicit HotwordSpelling(const TokenTable& tokens);

  bool has_boundaries() const { return has_boundaries_; }

  // By token id; "" for the blank and special tokens. Other tokens in angle brackets have a byte
  // that no phrase contains.
  const std::vector<std::string>& token_texts() const { return token_texts_; }

  // `phrase`: words joined by single spaces. Returns its normalised text; without boundaries when
  // the vocabulary has none. Throws std::runtime_error when the tokens cannot spell it between
  // other words, or only bytes spell marks that are part of a composed character.
  std::string Normalize(const std::string& phrase) const;

 private:
  enum class Case { kAny, kLower, kUpper };

  std::string WithCase(const std::string& phrase) const;
  void CheckCanSpell(const std::string& phrase, const std::string& normalized) const;
  // Bytes spell any mark, but the model writes composed characters, unless tokens have the mark.
  void CheckIsComposed(const std::string& phrase) const;

  bool has_boundaries_;
  std::vector<std::string> token_texts_;
  LetterCase letters_;
  Case case_ = Case::kAny;
  std::unique_ptr<const TokenSpeller> speller_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_HOTWORDS_HOTWORD_SPELLING_H_
