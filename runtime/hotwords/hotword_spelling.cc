#include "runtime/hotwords/hotword_spelling.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/hotwords/hotword_automaton.h"
#include "runtime/text/character_class.h"
#include "runtime/text/composition.h"
#include "runtime/text/printable.h"
#include "runtime/text/utf8.h"
#include "runtime/text/vocabulary.h"
#include "runtime/token_table.h"

namespace runnel {
namespace {

constexpr char kBoundary = HotwordAutomaton::kBoundary;
static_assert(kBoundary == TokenSpeller::kBoundary);

// Not in a phrase: control characters are refused.
constexpr char kSpecial = '\0';

// `text` with boundaries around each character of those scripts, and each run of boundaries as one.
std::string WithBoundaries(std::string_view text) {
  std::string with_boundaries;
  for (const std::string_view character : SplitCharacters(text)) {
    if (IsUnspaced(CodePoint(character))) {
      with_boundaries.append(1, kBoundary).append(character).append(1, kBoundary);
    } else {
      with_boundaries += character;
    }
  }
  const auto are_boundaries = [](char a, char b) { return a == kBoundary && b == kBoundary; };
  with_boundaries.erase(std::unique(with_boundaries.begin(), with_boundaries.end(), are_boundaries),
                        with_boundaries.end());
  return with_boundaries;
}

// A part of a normalised text, for a message.
std::string QuotedPart(std::string_view part) {
  std::string text;
  for (const char c : part) {
    if (c == kBoundary) {
      text += TokenTable::kWordBoundary;
    } else {
      text += c;
    }
  }
  return Quoted(text);
}

}  // namespace

HotwordSpelling::HotwordSpelling(const TokenTable& tokens)
    : has_boundaries_(tokens.has_word_boundaries()) {
  bool has_lower = false;
  bool has_upper = false;
  for (int32_t id = 0; id < tokens.size(); ++id) {
    const std::string& text = tokens.text(id);
    if (tokens.IsByte(id)) {  // has no case of its own
      token_texts_.push_back(text);
    } else if (tokens.IsText(id) && IsBracketed(tokens.name(id))) {  // such as <unk>
      token_texts_.emplace_back(1, kSpecial);
    } else {
      token_texts_.push_back(has_boundaries_ ? WithBoundaries(text) : text);
      has_lower = has_lower || letters_.HasLower(text);
      has_upper = has_upper || letters_.HasUpper(text);
    }
  }
  if (has_lower != has_upper) case_ = has_lower ? Case::kLower : Case::kUpper;
  std::vector<std::string> texts;
  for (int32_t id = 0; id < tokens.size(); ++id) {
    std::string& text = token_texts_[static_cast<size_t>(id)];
    if (text.empty() || text.front() == kSpecial) continue;
    if (!tokens.IsByte(id)) text = WithCase(text);
    texts.push_back(text);
  }
  speller_ = std::make_unique<const TokenSpeller>(std::move(texts));
}

std::string HotwordSpelling::Normalize(const std::string& phrase) const {
  std::string normalized = WithCase(phrase);
  if (has_boundaries_) {
    normalized = SpacedText(WithBoundaries(normalized));
  } else {
    normalized.erase(std::remove(normalized.begin(), normalized.end(), kBoundary),
                     normalized.end());
  }
  CheckCanSpell(phrase, normalized);
  return normalized;
}

std::string HotwordSpelling::WithCase(const std::string& phrase) const {
  if (case_ == Case::kAny) return phrase;
  const std::string folded = letters_.Folded(phrase);
  return case_ == Case::kLower ? folded : letters_.Upper(folded);
}

void HotwordSpelling::CheckCanSpell(const std::string& phrase,
                                    const std::string& normalized) const {
  const std::string text = has_boundaries_ ? kBoundary + normalized + kBoundary : normalized;
  const size_t furthest = speller_->FirstUnspelled(text);
  if (furthest == TokenSpeller::kSpelled) return CheckIsComposed(phrase);
  // The rest of the word, with the boundary before it if that is not yet spelled.
  const size_t end = std::min(text.find(kBoundary, furthest + 1), text.size());
  throw std::runtime_error(Quoted(phrase) + " needs tokens that spell " +
                           QuotedPart(text.substr(furthest, end - furthest)) +
                           ", which the model does not have" + DecompositionNote(phrase));
}

void HotwordSpelling::CheckIsComposed(const std::string& phrase) const {
  for (const std::string_view mark : DecomposedMarks(phrase)) {
    const bool is_in_token = std::any_of(
        token_texts_.begin(), token_texts_.end(),
        [mark](const std::string& text) { return text.find(mark) != std::string::npos; });
    if (is_in_token) continue;
    throw std::runtime_error(Quoted(phrase) + " has the character " + Quoted(mark) +
                             ", which only bytes of the model spell" + DecompositionNote(phrase));
  }
}

}  // namespace runnel
