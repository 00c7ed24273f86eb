#include "runtime/hotwords/hotword_spelling.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/hotwords/hotword_automaton.h"
#include "runtime/text/character_class.h"
#include "runtime/text/printable.h"
#include "runtime/text/utf8.h"
#include "runtime/text/vocabulary.h"
#include "runtime/token_table.h"

namespace runnel {
namespace {

constexpr char kBoundary = HotwordAutomaton::kBoundary;

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
  std::vector<std::string> texts;
  bool has_lower = false;
  bool has_upper = false;
  for (int32_t id = 0; id < tokens.size(); ++id) {
    if (tokens.IsText(id) && IsSpecialToken(tokens.name(id))) {  // such as <unk>
      token_texts_.emplace_back(1, kSpecial);
      continue;
    }
    token_texts_.push_back(has_boundaries_ ? WithBoundaries(tokens.text(id)) : tokens.text(id));
    const std::string& text = token_texts_.back();
    if (text.empty()) continue;
    texts.push_back(text);
    boundary_begins_token_ = boundary_begins_token_ || text.front() == kBoundary;
    boundary_ends_token_ = boundary_ends_token_ || text.back() == kBoundary;
    has_lower = has_lower || letters_.HasLower(text);
    has_upper = has_upper || letters_.HasUpper(text);
  }
  if (has_lower != has_upper) case_ = has_lower ? Case::kLower : Case::kUpper;
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  if (!texts.empty()) tokens_ = std::make_unique<const Tree>(texts);
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
  return case_ == Case::kLower ? letters_.Lower(phrase) : letters_.Upper(phrase);
}

// Dynamic programming over the positions between tokens. With boundaries, the text has one at
// either end; the token before or the token after the phrase may also have it.
void HotwordSpelling::CheckCanSpell(const std::string& phrase,
                                    const std::string& normalized) const {
  const std::string text = has_boundaries_ ? kBoundary + normalized + kBoundary : normalized;
  std::vector<char> reached(text.size() + 1, 0);
  reached[0] = 1;
  if (has_boundaries_ && boundary_ends_token_) reached[1] = 1;
  size_t furthest = 0;
  for (size_t begin = 0; begin < text.size(); ++begin) {
    if (reached[begin] == 0) continue;
    furthest = begin;
    MarkTokenEnds(text, begin, &reached);
  }
  if (has_boundaries_ && boundary_begins_token_ && reached[text.size() - 1] != 0) return;
  if (reached[text.size()] != 0) return;
  // The rest of the word, with the boundary before it if that is not yet spelled.
  const size_t end = std::min(text.find(kBoundary, furthest + 1), text.size());
  throw std::runtime_error(Quoted(phrase) + " needs tokens that spell " +
                           QuotedPart(text.substr(furthest, end - furthest)) +
                           ", which the model does not have");
}

void HotwordSpelling::MarkTokenEnds(std::string_view text, size_t begin,
                                    std::vector<char>* reached) const {
  if (tokens_ == nullptr) return;
  const auto mark_from = [&](int32_t node) {
    for (size_t end = begin; node != Tree::kNone; ++end) {
      if (tokens_->At(node).sequence != Tree::kNone) (*reached)[end] = 1;
      if (end == text.size()) return;
      node = tokens_->Child(node, static_cast<uint8_t>(text[end]));
    }
  };
  mark_from(Tree::kRoot);
  // A boundary at the start of a token after a boundary counts once.
  if (begin > 0 && text[begin - 1] == kBoundary) {
    mark_from(tokens_->Child(Tree::kRoot, static_cast<uint8_t>(kBoundary)));
  }
}

}  // namespace runnel
