// A random 3-gram model of realistic shape, for measurements.
#ifndef RUNNEL_TOOLS_BENCHMARK_RANDOM_LANGUAGE_MODEL_H_
#define RUNNEL_TOOLS_BENCHMARK_RANDOM_LANGUAGE_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

namespace runnel {

// Words are numbers from 0; small ones are frequent, and have more successors. They are spelled in
// syllables. The same sizes give the same model.
class RandomLanguageModel {
 public:
  // About `num_ngrams` n-grams, at least 10 times `num_words`, of which there are at least 1000.
  RandomLanguageModel(int64_t num_words, int64_t num_ngrams);

  // Writes ARPA text. Throws std::runtime_error.
  void Write(const std::string& path) const;

  // A text of `num_words` words, most of them after words that they follow in a 3-gram.
  std::vector<uint32_t> Text(int64_t num_words) const;

  // One or more, in the order of the text of the word.
  static std::vector<std::string> Syllables(uint32_t word);
  // Of which all words are made.
  static std::vector<std::string> AllSyllables();

 private:
  // The words that follow a word, and two words, in n-grams; in ascending order.
  std::vector<uint32_t> After(uint32_t word) const;
  std::vector<uint32_t> After(uint32_t first, uint32_t second) const;

  int64_t num_words_;
  double mean_bigrams_;   // successors of a word
  double mean_trigrams_;  // successors of two words
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_RANDOM_LANGUAGE_MODEL_H_
