// Language models that cannot match the vocabulary are refused with the reason; others are not.
#include "runtime/scoring/language_model_fit.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/language_model.h"
#include "runtime/text/utf8.h"
#include "tests/runtime/ngram/arpa_test_support.h"
#include "tests/support/error_message.h"

namespace runnel {
namespace {

constexpr LanguageModelLevel kWord = LanguageModelLevel::kWord;
constexpr LanguageModelLevel kToken = LanguageModelLevel::kToken;

TokenTable Tokens(const WordSequence& names) {
  std::string units = "<blank> 0\n";
  for (size_t i = 0; i < names.size(); ++i) units += names[i] + " " + std::to_string(i + 1) + "\n";
  return {units, static_cast<int>(names.size()) + 1, 0, "units.txt"};
}

WordSequence LettersAnd(WordSequence names) {
  for (char c = 'a'; c <= 'z'; ++c) names.emplace_back(1, c);
  return names;
}

WordSequence CapitalLettersAnd(WordSequence names) {
  for (char c = 'A'; c <= 'Z'; ++c) names.emplace_back(1, c);
  return names;
}

// Pieces as BPE makes them: each letter at the beginning of a word and elsewhere, and some more.
WordSequence Pieces() {
  WordSequence names = LettersAnd({"<unk>", "'", "▁the", "▁lo", "ok", "ing", "▁is", "er"});
  for (char c = 'a'; c <= 'z'; ++c) names.push_back("▁" + std::string(1, c));
  return names;
}

std::shared_ptr<const LanguageModel> Unigrams(const WordSequence& words, double first = -1,
                                              double step = -0.001) {
  TextModel text;
  text.sections.emplace_back();
  text.sections[0].push_back({{"<s>"}, "-99", ""});
  text.sections[0].push_back({{"</s>"}, "-1", ""});
  text.sections[0].push_back({{"<unk>"}, "-2", ""});
  for (size_t i = 0; i < words.size(); ++i) {
    text.sections[0].push_back(
        {{words[i]}, std::to_string(first + step * static_cast<double>(i)), ""});
  }
  return LanguageModelOfText(text.Arpa());
}

// "" when they fit.
std::string Refusal(const WordSequence& names, LanguageModelLevel level,
                    const std::shared_ptr<const LanguageModel>& model) {
  LanguageModelOptions options;
  options.model = model;
  options.level = level;
  const TokenTable tokens = Tokens(names);
  try {
    PrepareLanguageModel(options, tokens);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

std::string OfWords(const std::string& counts, const std::string& rest) {
  return "level of the language model is word, but only " + counts +
         " most probable words are spelled by tokens of the acoustic model, not " + rest;
}

std::string OfTokens(const std::string& counts, const std::string& rest) {
  return "level of the language model is token, but only " + counts +
         " most probable words are tokens of the acoustic model, not " + rest;
}

TEST(LanguageModelFitTest, ModelsThatFit) {
  const WordSequence words = {"look", "the", "seam's", "is"};
  const WordSequence capitals = {"LOOK", "THE", "SEAM'S", "IS"};
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams(words)), "");
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams(capitals)), "") << "the case is changed";
  EXPECT_EQ(Refusal(CapitalLettersAnd({"▁", "'"}), kWord, Unigrams(words)), "");
  EXPECT_EQ(Refusal(LettersAnd({"▁", "'"}), kWord, Unigrams(words)), "");
  EXPECT_EQ(Refusal({"look▁", "the▁", "is▁"}, kWord, Unigrams({"look", "is", "them"})), "");
  EXPECT_EQ(Refusal(Pieces(), kToken, Unigrams({"▁the", "▁lo", "ok", "x", "'"})), "");
  EXPECT_EQ(Refusal({"中", "国", "文"}, kToken, Unigrams({"中", "国"})), "");
  // A model of letters as words, which are tokens too: both levels are possible.
  EXPECT_EQ(Refusal(LettersAnd({"▁"}), kWord, Unigrams({"a", "b"})), "");
  EXPECT_EQ(Refusal(LettersAnd({"▁"}), kToken, Unigrams({"a", "b"})), "");
  // Capital letters, digits and foreign words up to two thirds.
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams({"Berlin", "2026", "is", "über", "look", "The"})),
            "");
  // Only words in angle brackets: nothing to compare.
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams({"<sil>", "<noise>"})), "");
}

TEST(LanguageModelFitTest, RareWordsMayBeAnything) {
  WordSequence frequent;
  WordSequence rare;
  for (char a = 'a'; a <= 'z'; ++a) {
    for (char b = 'a'; b <= 'z'; ++b) frequent.push_back({a, b, 'e'});
  }
  for (int i = 0; i < 5000; ++i) rare.push_back("Name" + std::to_string(i));
  WordSequence words = frequent;
  words.insert(words.end(), rare.begin(), rare.end());
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams(words)), "");
  words = rare;
  words.insert(words.end(), frequent.begin(), frequent.end());
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams(words)),
            OfWords("0 of its 1000",
                    "'Name0' or 'Name1': they have digits, expected numbers in "
                    "words"));
  // Of equal probability: the words that are looked at come from the whole vocabulary.
  WordSequence sorted;
  for (int i = 0; i < 2000; ++i) sorted.push_back("A" + std::to_string(i));
  for (const std::string& first : frequent) {
    for (const char last : {'a', 'o', 'u', 's', 't'}) sorted.push_back(first + last);
  }
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams(sorted, -3, 0)), "");
}

TEST(LanguageModelFitTest, Tokens) {
  const std::string reason = "the words are its tokens, expected level token";
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams({"▁the", "▁lo", "▁is", "ok"})),
            OfWords("1 of its 4", "'▁the' or '▁lo': " + reason));
  // Tokens that begin no word are spelled like words.
  EXPECT_EQ(Refusal(LettersAnd({"▁"}), kWord, Unigrams({"o", "▁", "n", "e"})),
            OfWords("3 of its 4", "'▁': " + reason));
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams({"▁unter", "▁straße", "▁und", "en"})),
            OfWords("1 of its 4",
                    "'▁unter' or '▁straße': they are tokens of another model, "
                    "expected its own or words"));
  EXPECT_EQ(
      Refusal(Pieces(), kWord, Unigrams({"en", "▁und", "e", "st", "es"})),
      OfWords("4 of its 5", "'▁und': they are tokens of another model, expected its own or words"));
  EXPECT_EQ(Refusal(Pieces(), kToken, Unigrams({"look", "the", "is"})),
            OfTokens("0 of its 3", "'look' or 'the': they are words, expected level word"));
  EXPECT_EQ(Refusal({"中", "国"}, kToken, Unigrams({"中国", "文"})),
            OfTokens("0 of its 2",
                     "'中国' or '文', expected words that are tokens, as in "
                     "units.txt"));
}

TEST(LanguageModelFitTest, TokensAsNemoWritesThem) {
  const WordSequence names = Pieces();
  WordSequence encoded;
  for (size_t i = 0; i < names.size(); ++i) {
    encoded.push_back(Character(static_cast<char32_t>(100 + i)));
  }
  const std::string reason =
      "they are tokens as NeMo's train_kenlm.py writes them, expected a file of compile_lm "
      "--nemo_model and level token";
  EXPECT_EQ(Refusal(names, kWord, Unigrams(encoded)),
            OfWords("23 of its 60", "'{' or '|': " + reason));
  EXPECT_EQ(Refusal(names, kToken, Unigrams(encoded)),
            OfTokens("23 of its 60", "'{' or '|': " + reason));
}

TEST(LanguageModelFitTest, LetterCase) {
  const WordSequence title = {"Look", "The", "Seam", "is"};
  const std::string lower = "they have capital letters, expected lower case";
  const std::string upper = "they have lower-case letters, expected upper case";
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams(title)),
            OfWords("1 of its 4", "'Look' or 'The': " + lower));
  EXPECT_EQ(Refusal(CapitalLettersAnd({"▁"}), kWord, Unigrams(title)),
            OfWords("0 of its 4", "'Look' or 'The': " + upper));
  // Tokens of both cases spell words of either. Most of them are in lower case, as in a text.
  WordSequence cased = CapitalLettersAnd(Pieces());
  cased.push_back("▁");
  EXPECT_EQ(Refusal(cased, kWord, Unigrams(title)), "");
  EXPECT_EQ(Refusal(cased, kWord, Unigrams({"look", "the"})), "");
  EXPECT_EQ(Refusal(cased, kWord, Unigrams({"LOOK", "THE", "2026"})),
            OfWords("0 of its 3", "'LOOK' or 'THE': " + lower));
  // Tokens in capitals, and some lower-case letters.
  EXPECT_EQ(Refusal(CapitalLettersAnd({"▁", "a", "b", "c"}), kWord, Unigrams({"LOOK"})), "");
  EXPECT_EQ(Refusal(CapitalLettersAnd({"▁", "a", "b", "c"}), kWord, Unigrams({"abc"})),
            OfWords("0 of its 1", "'abc': " + upper));
}

TEST(LanguageModelFitTest, OtherCharacters) {
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams({"123", "4", "look", "5"})),
            OfWords("1 of its 4", "'123' or '4': they have digits, expected numbers in words"));
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams({"中国", "文"})),
            OfWords("0 of its 2",
                    "'中国' or '文': no tokens spell '中国', expected words as the "
                    "model writes them"));
  EXPECT_EQ(Refusal(Pieces(), kWord, Unigrams({"maße", "größe"})),
            OfWords("0 of its 2",
                    "'maße' or 'größe': no tokens spell 'ße', expected words as the "
                    "model writes them"));
  EXPECT_EQ(Refusal({"▁one", "▁two"}, kWord, Unigrams({"ones", "x"})),
            OfWords("0 of its 2",
                    "'ones' or 'x': no tokens spell 's', expected words as the model "
                    "writes them"));
}

// Results have spaces between such words only if each is a token with a boundary.
TEST(LanguageModelFitTest, ScriptsWithoutSpaces) {
  EXPECT_EQ(Refusal({"▁", "中", "国", "文"}, kWord, Unigrams({"中国", "国文"})),
            OfWords("0 of its 2",
                    "'中国' or '国文': results have no spaces between them, expected level token"));
  EXPECT_EQ(Refusal({"▁中国", "▁文"}, kWord, Unigrams({"中国", "文"})), "");
}

}  // namespace
}  // namespace runnel
