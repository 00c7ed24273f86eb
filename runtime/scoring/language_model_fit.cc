#include "runtime/scoring/language_model_fit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

#include "runtime/ngram/nemo_words.h"
#include "runtime/text/character_class.h"
#include "runtime/text/letter_case.h"
#include "runtime/text/printable.h"
#include "runtime/text/token_speller.h"
#include "runtime/text/utf8.h"

namespace runnel {
namespace {

// The least share of the most probable words that must fit. Rare words may be anything: names,
// foreign words, mistakes. Of text that nobody cleaned, the tokens of a lower-case
// model spell 0.38 to 0.81 (docs/language_models.md). Of a model of the tokens, all are tokens; of
// one of another model's tokens, often some.
constexpr double kLeastSpelled = 1.0 / 3;
constexpr double kLeastTokens = 1.0 / 2;

using Words = std::vector<std::string>;
using WordTest = std::function<bool(const std::string& word)>;

size_t Count(const Words& words, const WordTest& test) {
  return static_cast<size_t>(std::count_if(words.begin(), words.end(), test));
}

bool IsHalf(size_t count, size_t all) { return 2 * count >= all; }

bool BeginsUnspaced(const std::string& text) {
  const std::vector<std::string_view> characters = SplitCharacters(text);
  return !characters.empty() && IsUnspaced(CodePoint(characters.front()));
}

class VocabularyFit {
 public:
  VocabularyFit(const NgramModel& ngrams, const TokenTable& tokens, const Words& token_texts)
      : speller_(token_texts), num_tokens_(tokens.size()) {
    for (int32_t token = 0; token < tokens.size(); ++token) names_.insert(tokens.name(token));
    has_unspaced_ = Count(token_texts, BeginsUnspaced) > 0;
    const auto has_lower = [this](const auto& text) { return letters_.HasLower(text); };
    const auto has_upper = [this](const auto& text) { return letters_.HasUpper(text); };
    const size_t num_lower = Count(token_texts, has_lower);
    const size_t num_upper = Count(token_texts, has_upper);
    if (ngrams.has_lower_case() == ngrams.has_upper_case()) return;
    lacks_lower_ = ngrams.has_upper_case() && num_lower > num_upper;
    lacks_upper_ = ngrams.has_lower_case() && num_upper > num_lower;
  }

  bool IsToken(const std::string& word) const { return names_.count(word) > 0; }

  // Whether the word can be one of a result's text.
  bool IsWord(const std::string& word) const {
    if (!IsUtf8(word) || IsWithoutSpaces(word)) return false;
    if (lacks_lower_ && letters_.HasUpper(word)) return false;
    if (lacks_upper_ && letters_.HasLower(word)) return false;
    return Unspelled(word).empty();
  }

  // Whether results have no space before or after the word: its characters are of a script without
  // spaces, and the tokens of such characters begin no word.
  bool IsWithoutSpaces(const std::string& word) const {
    return has_unspaced_ && IsUtf8(word) && BeginsUnspaced(word);
  }

  // The rest of the word from the first character on that no tokens spell.
  std::string Unspelled(const std::string& word) const {
    const size_t first =
        speller_.FirstUnspelled(TokenSpeller::kBoundary + word + TokenSpeller::kBoundary);
    if (first == TokenSpeller::kSpelled) return "";
    size_t begin = first > 0 ? std::min(first - 1, word.size()) : 0;
    while (begin > 0 && (begin == word.size() || !BeginsCharacter(word[begin]))) --begin;
    return word.substr(begin);
  }

  bool IsWordInLower(const std::string& word) const {
    return IsUtf8(word) && IsWord(letters_.Lower(word));
  }
  bool IsWordInUpper(const std::string& word) const {
    return IsUtf8(word) && IsWord(letters_.Upper(word));
  }

  bool IsEncodedToken(const std::string& word) const {
    return NemoWords::TokenOf(word, num_tokens_).has_value();
  }

 private:
  const TokenSpeller speller_;
  const LetterCase letters_;
  const int num_tokens_;
  std::unordered_set<std::string> names_;
  bool has_unspaced_ = false;
  // The language model has letters of one case only, and the tokens mostly of the other.
  bool lacks_lower_ = false;
  bool lacks_upper_ = false;
};

bool HasDigit(const std::string& word) {
  return word.find_first_of("0123456789") != std::string::npos;
}

bool HasBoundary(const std::string& word) {
  return word.find(TokenTable::kWordBoundary) != std::string::npos;
}

// What may be wrong with words, and what is expected instead.
struct Reason {
  WordTest is_why;
  std::string text;
};

std::vector<Reason> Reasons(const VocabularyFit& fit, const Words& words,
                            LanguageModelLevel level) {
  const bool is_word_level = level == LanguageModelLevel::kWord;
  const auto is_token = [&fit](const std::string& word) { return fit.IsToken(word); };
  const auto is_word = [&fit](const std::string& word) { return fit.IsWord(word); };
  const auto is_encoded = [&fit](const std::string& word) { return fit.IsEncodedToken(word); };
  std::vector<Reason> reasons;
  if (Count(words, is_encoded) == words.size()) {
    reasons.push_back({is_encoded,
                       "they are tokens as NeMo's train_kenlm.py writes them, expected a file of "
                       "compile_lm --nemo_model and level token"});
  }
  if (is_word_level && IsHalf(Count(words, is_token), words.size())) {
    reasons.push_back({[](const std::string&) { return true; },
                       "the words are its tokens, expected level token"});
  }
  if (!is_word_level && IsHalf(Count(words, is_word), words.size())) {
    reasons.push_back({is_word, "they are words, expected level word"});
  }
  reasons.push_back({HasBoundary, "they are tokens of another model, expected its own or words"});
  if (is_word_level) {
    reasons.push_back({[&fit](const std::string& word) { return fit.IsWithoutSpaces(word); },
                       "results have no spaces between them, expected level token"});
    reasons.push_back({[&fit](const std::string& word) { return fit.IsWordInLower(word); },
                       "they have capital letters, expected lower case"});
    reasons.push_back({[&fit](const std::string& word) { return fit.IsWordInUpper(word); },
                       "they have lower-case letters, expected upper case"});
    reasons.push_back({HasDigit, "they have digits, expected numbers in words"});
  }
  return reasons;
}

// The first two of `words` that pass, in quotes.
std::string Examples(const Words& words, const WordTest& test) {
  std::string text;
  for (const std::string& word : words) {
    if (!test(word)) continue;
    if (!text.empty()) return text + " or " + Quoted(word);
    text = Quoted(word);
  }
  return text;
}

// Which words do not fit, and why.
std::string Problem(const VocabularyFit& fit, const Words& words, const Words& misfits,
                    LanguageModelLevel level) {
  for (const Reason& reason : Reasons(fit, words, level)) {
    if (!IsHalf(Count(misfits, reason.is_why), misfits.size())) continue;
    return "not " + Examples(misfits, reason.is_why) + ": " + reason.text;
  }
  const auto any = [](const std::string&) { return true; };
  if (level == LanguageModelLevel::kToken) {
    return "not " + Examples(misfits, any) + ", expected words that are tokens, as in units.txt";
  }
  return "not " + Examples(misfits, any) + ": no tokens spell " +
         Quoted(fit.Unspelled(misfits.front())) + ", expected words as the model writes them";
}

// Whether the words are tokens at the wrong level or in NeMo's encoding, though many look like
// words: letters, and tokens that begin no word.
bool AreTokens(const VocabularyFit& fit, const Words& words, size_t num_fitting,
               LanguageModelLevel level) {
  const auto is_token = [&fit](const std::string& word) { return fit.IsToken(word); };
  const auto is_encoded = [&fit](const std::string& word) { return fit.IsEncodedToken(word); };
  if (Count(words, is_encoded) == words.size()) return true;
  if (level == LanguageModelLevel::kToken) return false;
  return num_fitting < Count(words, is_token) || 10 * Count(words, HasBoundary) > words.size();
}

}  // namespace

void CheckLanguageModelFits(LanguageModelLevel level, const NgramModel& ngrams,
                            const TokenTable& tokens, const std::vector<std::string>& token_texts) {
  const Words& words = ngrams.most_probable_words();
  const VocabularyFit fit(ngrams, tokens, token_texts);
  const bool is_word_level = level == LanguageModelLevel::kWord;
  Words misfits;
  std::copy_if(words.begin(), words.end(), std::back_inserter(misfits),
               [&](const std::string& word) {
                 return is_word_level ? !fit.IsWord(word) : !fit.IsToken(word);
               });
  const size_t num_fitting = words.size() - misfits.size();
  const double least = is_word_level ? kLeastSpelled : kLeastTokens;
  const bool fits = static_cast<double>(num_fitting) >= least * static_cast<double>(words.size());
  if (misfits.empty() || (fits && !AreTokens(fit, words, num_fitting, level))) return;
  throw std::invalid_argument(
      "level of the language model is " + std::string(is_word_level ? "word" : "token") +
      ", but only " + std::to_string(num_fitting) + " of its " + std::to_string(words.size()) +
      " most probable words are " + (is_word_level ? "spelled by tokens" : "tokens") +
      " of the acoustic model, " + Problem(fit, words, misfits, level));
}

}  // namespace runnel
