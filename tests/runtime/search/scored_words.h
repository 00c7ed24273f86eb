// Hotwords and a language model for a vocabulary of four tokens, and what they add to a text by
// their definitions.
#ifndef RUNNEL_TESTS_RUNTIME_SEARCH_SCORED_WORDS_H_
#define RUNNEL_TESTS_RUNTIME_SEARCH_SCORED_WORDS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/search_options.h"
#include "runtime/token_table.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {

constexpr double kLn10 = 2.302585092994046;

// Four tokens besides the blank: words of the letters a and b.
inline const TokenTable& Tokens() {
  static const TokenTable tokens("<blank> 0\n▁ 1\na 2\nb 3\n▁a 4\n", 5, 0, "units.txt");
  return tokens;
}

inline std::vector<std::string> Words(const std::string& text) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// A 2-gram model of the words a, b and ab.
constexpr char kArpa[] =
    "\\data\\\nngram 1=5\nngram 2=4\n\n\\1-grams:\n-0.6\t</s>\n-99\t<s>\t-0.2\n-0.7\ta\t-0.3\n"
    "-0.9\tb\n-1.1\tab\t-0.1\n\n\\2-grams:\n-0.3\t<s> a\n-0.4\ta ab\n-0.8\tab </s>\n-0.5\tab a\n"
    "\n\\end\\\n";

// The same as a dictionary: log10 p(word | word before), by the definition of back-off.
inline double Log10Prob(const std::string& before, const std::string& word) {
  static const std::map<std::string, double> unigrams = {
      {"</s>", -0.6}, {"a", -0.7}, {"b", -0.9}, {"ab", -1.1}};
  static const std::map<std::pair<std::string, std::string>, double> bigrams = {
      {{"<s>", "a"}, -0.3}, {{"a", "ab"}, -0.4}, {{"ab", "</s>"}, -0.8}, {{"ab", "a"}, -0.5}};
  static const std::map<std::string, double> backoffs = {{"<s>", -0.2}, {"a", -0.3}, {"ab", -0.1}};
  const auto bigram = bigrams.find({before, word});
  if (bigram != bigrams.end()) return bigram->second;
  const auto backoff = backoffs.find(before);
  const auto unigram = unigrams.find(word);
  if (unigram == unigrams.end()) return -10;  // an unknown word; the model has no <unk>
  return (backoff == backoffs.end() ? 0 : backoff->second) + unigram->second;
}

inline double LanguageModelScore(const std::string& text, const LanguageModelOptions& options) {
  double score = 0;
  std::string before = "<s>";
  for (const std::string& word : Words(text)) {
    score += options.weight * kLn10 * Log10Prob(before, word) + options.bonus;
    before = word;
  }
  return score + options.weight * kLn10 * Log10Prob(before, "</s>");
}

// Per character, for each whole-word occurrence of "ab" and "b a"; `scale` times each score.
inline std::string HotwordList(double scale) {
  return "ab :" + std::to_string(0.75 * scale) + "\nb a :" + std::to_string(1.5 * scale) + "\n";
}
inline double HotwordBonus(const std::string& text) {
  const std::vector<std::string> words = Words(text);
  double bonus = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "ab") bonus += 2 * 0.75;
    if (i > 0 && words[i - 1] == "b" && words[i] == "a") bonus += 2 * 1.5;
  }
  return bonus;
}

class ScoredWordsTest : public ::testing::Test {
 protected:
  ScoredWordsTest() {
    const std::string path = folder_.File("lm.arpa");
    testing::WriteBytes(path, kArpa);
    lm_options_.model = LanguageModel::Load(path);
    lm_options_.weight = 0.7;
    lm_options_.bonus = 0.9;
  }

  SearchOptions Options(bool hotwords, bool language_model, int beam_size = 4000) const {
    SearchOptions options;
    options.method = SearchMethod::kPrefixBeam;
    options.beam_size = beam_size;
    options.token_beam = 5;
    if (hotwords) {
      options.hotwords =
          std::make_shared<const Hotwords>(HotwordList(hotword_scale_), Tokens(), 1.0F, "test");
    }
    if (language_model) options.language_model = PrepareLanguageModel(lm_options_, Tokens());
    return options;
  }

  double Bonus(const std::string& text, const SearchOptions& options) const {
    return (options.hotwords == nullptr ? 0 : hotword_scale_ * HotwordBonus(text)) +
           (options.language_model == nullptr ? 0 : LanguageModelScore(text, lm_options_));
  }

  testing::TemporaryFolder folder_;
  LanguageModelOptions lm_options_;
  double hotword_scale_ = 1;
};

}  // namespace runnel

#endif  // RUNNEL_TESTS_RUNTIME_SEARCH_SCORED_WORDS_H_
