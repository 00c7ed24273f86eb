// Scores equal the definition, computed from the text of whole hypotheses by a dictionary.
#include "runtime/scoring/language_model_scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/ngram/arpa_test_support.h"
#include "tests/support/error_message.h"

namespace runnel {
namespace {

constexpr double kTolerance = 1e-8;
constexpr double kUnknownLog10 = -10;

TokenTable Tokens(const std::vector<std::string>& names) {
  std::string units = "<blank> 0\n";
  for (size_t i = 0; i < names.size(); ++i) units += names[i] + " " + std::to_string(i + 1) + "\n";
  return {units, static_cast<int>(names.size()) + 1, 0, "units.txt"};
}

WordSequence SplitAtSpaces(const std::string& text) {
  WordSequence words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

bool IsSpecial(const std::string& word) {
  return word == "<s>" || word == "</s>" || word == "<unk>" || word == "<UNK>";
}

// The score of a sequence of words by the definition.
double ExpectedScore(const TextDictionary& dictionary, const WordSequence& words,
                     const LanguageModelOptions& options, bool has_special_words) {
  const double scale = options.weight * std::log(10.0);
  double score = 0;
  WordSequence history;
  if (dictionary.Has("<s>")) history.push_back("<s>");
  for (const std::string& word : words) {
    const bool is_known = dictionary.Has(word) && (has_special_words || !IsSpecial(word));
    const std::string scored = is_known ? word : "not a word";
    const double log10_prob = dictionary.Log10Prob(history, scored);
    score += scale * (is_known ? log10_prob : log10_prob + kUnknownLog10) + options.bonus;
    history.push_back(scored);
  }
  if (dictionary.Has("</s>")) score += scale * dictionary.Log10Prob(history, "</s>");
  return score;
}

// Extends a hypothesis by random tokens. Every gain must be within MostGain. Returns the tokens.
std::vector<int32_t> RandomTokens(const LanguageModelScorer& scorer, int num_tokens,
                                  std::mt19937* random, double* total) {
  std::vector<int32_t> tokens;
  LanguageModelScorer::State state = scorer.Start();
  *total = 0;
  for (size_t i = (*random)() % 10; i > 0; --i) {
    const double most_gain = scorer.MostGain(state);
    for (int32_t token = 1; token < num_tokens; ++token) {
      LanguageModelScorer::State next = state;
      EXPECT_LE(scorer.Extend(&next, token), most_gain) << "token " << token;
    }
    tokens.push_back(static_cast<int32_t>(1 + (*random)() % static_cast<size_t>(num_tokens - 1)));
    *total += scorer.Extend(&state, tokens.back());
  }
  *total += scorer.End(state);
  return tokens;
}

LanguageModelOptions RandomOptions(std::mt19937* random) {
  LanguageModelOptions options;
  options.weight = std::uniform_real_distribution<double>(0, 2)(*random);
  options.bonus = std::uniform_real_distribution<double>(-3, 3)(*random);
  return options;
}

void ExpectDefinition(const std::vector<std::string>& names, WordSequence lm_words,
                      LanguageModelLevel level) {
  const TokenTable tokens = Tokens(names);
  lm_words.insert(lm_words.end(), {"<s>", "</s>"});
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    WordSequence words = lm_words;
    if (seed % 3 == 0) words.emplace_back("<unk>");
    if (seed % 5 == 0) words.erase(std::find(words.begin(), words.end(), "</s>"));
    if (seed % 7 == 0) words.erase(std::find(words.begin(), words.end(), "<s>"));
    const TextModel text = RandomTextModel(&random, words, 1 + static_cast<int>(seed % 4));
    const TextDictionary dictionary(text);
    LanguageModelOptions options = RandomOptions(&random);
    options.model = LanguageModelOfText(text.Arpa());
    options.level = level;
    const LanguageModelScorer scorer(options, tokens);
    for (int i = 0; i < 100; ++i) {
      double total = 0;
      const std::vector<int32_t> ids = RandomTokens(scorer, tokens.size(), &random, &total);
      WordSequence sequence = SplitAtSpaces(tokens.Text(ids));
      const bool is_token_level = level == LanguageModelLevel::kToken;
      if (is_token_level) {
        sequence.clear();
        for (const int32_t id : ids) {
          if (tokens.IsText(id)) sequence.push_back(tokens.name(id));
        }
      }
      ASSERT_NEAR(total, ExpectedScore(dictionary, sequence, options, is_token_level), kTolerance)
          << "'" << tokens.Text(ids) << "'";
    }
  }
}

const WordSequence kWords = {"he", "hello", "helloo", "o",  "world", "wor", "a",  "b",
                             "bo", "hea",   "bllo",   "ld", "oo",    "llo", "ba", "heo"};

TEST(LanguageModelScorerTest, BoundariesBeforeWords) {
  ExpectDefinition({"▁he", "llo", "▁", "o", "▁wor", "ld", "a▁b"}, kWords,
                   LanguageModelLevel::kWord);
}

TEST(LanguageModelScorerTest, BoundariesAfterWords) {
  ExpectDefinition({"he▁", "llo▁", "llo", "o", "wor", "ld▁", "a", "he"}, kWords,
                   LanguageModelLevel::kWord);
}

TEST(LanguageModelScorerTest, SeveralBoundariesInAToken) {
  ExpectDefinition({"a▁b▁", "▁▁", "▁a▁o▁b▁", "he", "llo", "b▁▁zz▁a"}, kWords,
                   LanguageModelLevel::kWord);
}

TEST(LanguageModelScorerTest, SpecialWordsAreUnknownInAText) {
  ExpectDefinition({"<unk>", "▁<s>", "</s>", "▁a", "▁", "b"}, kWords, LanguageModelLevel::kWord);
}

TEST(LanguageModelScorerTest, Characters) {
  ExpectDefinition({"▁", "a", "b", "o", "中", "ü"}, {"a", "ab", "中", "中ü", "b", "o", "oo"},
                   LanguageModelLevel::kWord);
}

TEST(LanguageModelScorerTest, TokenLevel) {
  ExpectDefinition({"▁he", "llo", "▁", "中", "<unk>", "x"}, {"▁he", "llo", "▁", "中", "<blank>"},
                   LanguageModelLevel::kToken);
}

TEST(LanguageModelScorerTest, SpecialTokensAreNoWords) {
  ExpectDefinition({"<en-US>", "▁he", "llo", "▁", "<s>", "o", "▁wor"}, kWords,
                   LanguageModelLevel::kWord);
  ExpectDefinition({"▁he", "<en-US>", "llo", "▁", "</s>"}, {"▁he", "llo", "▁", "<en-US>"},
                   LanguageModelLevel::kToken);
}

TEST(LanguageModelScorerTest, ABlankAddsNothingToAWord) {
  const TokenTable tokens = Tokens({"▁a"});
  LanguageModelOptions options;
  options.model = LanguageModelOfText("\\data\\\nngram 1=1\n\\1-grams:\n-1 a\n\\end\\\n");
  const LanguageModelScorer scorer(options, tokens);
  LanguageModelScorer::State state = scorer.Start();
  scorer.Extend(&state, 1);
  const LanguageModelScorer::State before = state;
  EXPECT_EQ(scorer.Extend(&state, tokens.blank_id()), 0);
  EXPECT_EQ(state.word_node, before.word_node);
  EXPECT_EQ(state.context.nodes, before.context.nodes);
}

constexpr char kAbModel[] =
    "\\data\\\nngram 1=5\nngram 2=1\n\\1-grams:\n-1 ab\n-2 abc\n-3 b\n-9 d\n-4 <unk> -0.5\n"
    "\\2-grams:\n-0.5 <unk> ab\n\\end\\\n";

TEST(LanguageModelScorerTest, LooksAhead) {
  const TokenTable tokens = Tokens({"▁a", "b", "▁", "c", "▁d"});
  LanguageModelOptions options;
  options.model = LanguageModelOfText(kAbModel);
  options.weight = 2;
  options.bonus = 0.25;
  const LanguageModelScorer scorer(options, tokens);
  const double scale = 2 * std::log(10.0);
  LanguageModelScorer::State state = scorer.Start();
  EXPECT_EQ(scorer.Extend(&state, 3), 0);                                 // a boundary at the start
  EXPECT_NEAR(scorer.Extend(&state, 1), scale * -1, kTolerance);          // a: ab
  EXPECT_NEAR(scorer.Extend(&state, 2), 0, kTolerance);                   // ab: ab
  EXPECT_NEAR(scorer.Extend(&state, 4), scale * -1, kTolerance);          // abc: abc
  EXPECT_NEAR(scorer.Extend(&state, 4), scale * -12, kTolerance);         // abcc: unknown
  EXPECT_NEAR(scorer.MostGain(state) - scale * 3.5 - 0.25, 0, 1e-6);      // at most 10^-0.5
  EXPECT_NEAR(scorer.Extend(&state, 4), 0, kTolerance);                   // abccc: unknown
  EXPECT_NEAR(scorer.Extend(&state, 3), 0.25, kTolerance);                // scored as estimated
  EXPECT_NEAR(scorer.Extend(&state, 1), scale * -1, kTolerance);          // a: ab
  EXPECT_NEAR(scorer.Extend(&state, 2), 0, kTolerance);                   // ab: ab
  EXPECT_NEAR(scorer.Extend(&state, 3), 0.25 + scale * 0.5, kTolerance);  // after <unk>
  EXPECT_EQ(scorer.End(state), 0);                                        // there is no </s>
  // A rare known word may cost more than an unknown one, and MostGain knows it.
  scorer.Extend(&state, 5);
  const double most_gain = scorer.MostGain(state);
  EXPECT_LE(scorer.Extend(&state, 4), most_gain);
}

// Histories that end alike have equal states.
TEST(LanguageModelScorerTest, EqualStates) {
  const TokenTable tokens = Tokens({"▁ab", "a", "b", "▁", "▁a"});
  LanguageModelOptions options;
  options.model = LanguageModelOfText(kAbModel);
  const LanguageModelScorer scorer(options, tokens);
  const auto after = [&](const std::vector<int32_t>& ids) {
    LanguageModelScorer::State state = scorer.Start();
    for (const int32_t id : ids) scorer.Extend(&state, id);
    return std::pair(state.word_node, state.context.nodes);
  };
  EXPECT_EQ(after({1}), after({5, 3}));
  EXPECT_EQ(after({1, 4}), after({4, 2, 3, 4, 4}));
  EXPECT_NE(after({1, 4}), after({1}));
  EXPECT_NE(after({1}), after({5}));
  EXPECT_EQ(after({2, 2}), after({3, 2, 2}));  // unknown words
}

TEST(LanguageModelScorerTest, CaseIsChangedWhenAllLettersDiffer) {
  const auto total = [](const std::vector<std::string>& names, const WordSequence& lm_words) {
    std::string arpa = "\\data\\\nngram 1=" + std::to_string(lm_words.size()) + "\n\\1-grams:\n";
    for (const std::string& word : lm_words) arpa += "-1 " + word + "\n";
    LanguageModelOptions options;
    options.model = LanguageModelOfText(arpa + "\\end\\\n");
    options.weight = 1 / std::log(10.0);
    options.bonus = 0;
    const LanguageModelScorer scorer(options, Tokens(names));
    LanguageModelScorer::State state = scorer.Start();
    double sum = scorer.Extend(&state, 1);
    sum += scorer.Extend(&state, 2);
    return sum + scorer.End(state);
  };
  EXPECT_NEAR(total({"▁ab", "é"}, {"abé"}), -1, kTolerance);
  EXPECT_NEAR(total({"▁ab", "é"}, {"ABÉ"}), -1, kTolerance);
  EXPECT_NEAR(total({"▁AB", "É"}, {"abé"}), -1, kTolerance);
  EXPECT_NEAR(total({"▁ab", "É"}, {"abé"}), -10, kTolerance);       // both cases in the tokens
  EXPECT_NEAR(total({"▁ab", "é"}, {"ABÉ", "x"}), -10, kTolerance);  // in the language model
  EXPECT_NEAR(total({"▁ab", "é"}, {"ABÉ", "12", "<sil>"}), -1, kTolerance);
  EXPECT_NEAR(total({"▁ab", "é", "<UNK>"}, {"ABÉ"}), -1, kTolerance);
  EXPECT_NEAR(total({"▁1", "2"}, {"12", "A"}), -1, kTolerance);
}

TEST(LanguageModelScorerTest, WrongOptionsAreNamed) {
  const TokenTable tokens = Tokens({"▁a"});
  LanguageModelOptions valid;
  valid.model = LanguageModelOfText(kAbModel);
  const auto error = [&](const LanguageModelOptions& options, const TokenTable& table) {
    return testing::ErrorMessage<std::invalid_argument>(
        [&] { LanguageModelScorer(options, table); });
  };
  LanguageModelOptions options = valid;
  options.weight = -0.1;
  EXPECT_EQ(error(options, tokens), "language_model_weight is -0.1, expected 0 to 10");
  options.weight = std::nan("");
  EXPECT_EQ(error(options, tokens), "language_model_weight is nan, expected 0 to 10");
  options = valid;
  options.bonus = 101;
  EXPECT_EQ(error(options, tokens), "language_model_bonus is 101, expected -100 to 100");
  options = valid;
  options.model = nullptr;
  EXPECT_EQ(error(options, tokens),
            "model of the language model options is null, expected a model");
  EXPECT_EQ(error(valid, Tokens({"中", "国"})),
            "level of the language model is word, but no token of the acoustic model has a word "
            "boundary (▁), expected level token");
}

}  // namespace
}  // namespace runnel
