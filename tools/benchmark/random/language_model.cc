#include "tools/benchmark/random/language_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <stdexcept>

namespace runnel {
namespace {

constexpr uint64_t kTextSeed = 1;

// A frequent word more often than a rare one.
uint32_t RandomWord(int64_t num_words, std::mt19937* random) {
  const double u = std::uniform_real_distribution<double>(0, 1)(*random);
  return static_cast<uint32_t>(static_cast<double>(num_words) * u * u * u);
}

std::vector<uint32_t> RandomWords(double count, int64_t num_words, std::mt19937* random) {
  std::vector<uint32_t> words;
  for (double i = 0; i < count; ++i) words.push_back(RandomWord(num_words, random));
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

std::string Spelling(uint32_t word) {
  std::string spelling;
  for (const std::string& syllable : RandomLanguageModel::Syllables(word)) spelling += syllable;
  return spelling;
}

// Counts have a fixed width, because they are written last.
std::string Header(const std::vector<int64_t>& counts) {
  std::string header = "\\data\\\n";
  for (size_t k = 0; k < counts.size(); ++k) {
    char line[64];
    std::snprintf(line, sizeof(line), "ngram %zu=%12lld\n", k + 1,
                  static_cast<long long>(counts[k]));
    header += line;
  }
  return header;
}

// A line with a probability, the spelled words and a back-off weight or "".
std::string Line(const std::string& words, const char* backoff, std::mt19937* random) {
  char prob[32];
  std::snprintf(prob, sizeof(prob), "-%.6f",
                std::uniform_real_distribution<double>(0.1, 5)(*random));
  return prob + ("\t" + words) + backoff + "\n";
}

}  // namespace

RandomLanguageModel::RandomLanguageModel(int64_t num_words, int64_t num_ngrams)
    : num_words_(num_words) {
  // 3 of 10 n-grams are 2-grams.
  const auto words = static_cast<double>(num_words);
  mean_bigrams_ = (static_cast<double>(num_ngrams) - words) * 0.3 / words;
  mean_trigrams_ = 0.7 / 0.3;
}

std::vector<uint32_t> RandomLanguageModel::After(uint32_t word) const {
  // Zipf's law with exponent 0.5, whose mean over all words is 2 at its last word.
  const double rank = (static_cast<double>(word) + 1) / static_cast<double>(num_words_);
  const double count = mean_bigrams_ * 0.5 / std::sqrt(rank);
  std::mt19937 random(word);
  return RandomWords(std::min(count, static_cast<double>(num_words_) / 4), num_words_, &random);
}

std::vector<uint32_t> RandomLanguageModel::After(uint32_t first, uint32_t second) const {
  std::mt19937 random(first * 2654435761U + second);
  const double count = std::exponential_distribution<double>(1 / mean_trigrams_)(random);
  return RandomWords(count - 0.5, num_words_, &random);
}

void RandomLanguageModel::Write(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  std::mt19937 random(kTextSeed);
  std::vector<int64_t> counts = {num_words_ + 3, 0, 0};
  file << Header(counts) << "\n\\1-grams:\n-99\t<s>\t-0.5\n-1.5\t</s>\n-3\t<unk>\t-0.2\n";
  const auto num_words = static_cast<uint32_t>(num_words_);
  for (uint32_t word = 0; word < num_words; ++word) {
    file << Line(Spelling(word), "\t-0.301030", &random);
  }
  file << "\n\\2-grams:\n";
  for (uint32_t first = 0; first < num_words; ++first) {
    for (const uint32_t second : After(first)) {
      file << Line(Spelling(first) + " " + Spelling(second), "\t-0.176091", &random);
      ++counts[1];
    }
  }
  file << "\n\\3-grams:\n";
  for (uint32_t first = 0; first < num_words; ++first) {
    for (const uint32_t second : After(first)) {
      const std::string words = Spelling(first) + " " + Spelling(second) + " ";
      for (const uint32_t third : After(first, second)) {
        file << Line(words + Spelling(third), "", &random);
        ++counts[2];
      }
    }
  }
  file << "\n\\end\\\n";
  file.seekp(0);
  file << Header(counts);
  file.close();
  if (!file) throw std::runtime_error(path + ": cannot write");
}

std::vector<uint32_t> RandomLanguageModel::Text(int64_t num_words) const {
  std::mt19937 random(kTextSeed);
  std::vector<uint32_t> text = {0, 0};
  while (static_cast<int64_t>(text.size()) < num_words) {
    std::vector<uint32_t> next = After(text[text.size() - 2], text.back());
    if (next.empty() && random() % 2 == 0) next = After(text.back());
    if (next.empty()) next = {RandomWord(num_words_, &random)};
    text.push_back(next[random() % next.size()]);
  }
  return text;
}

std::vector<std::string> RandomLanguageModel::AllSyllables() {
  std::vector<std::string> syllables;
  for (const char consonant : std::string("bcdfghjklmnpqrstvwxz")) {
    for (const char vowel : std::string("aeiou")) syllables.push_back({consonant, vowel});
  }
  return syllables;
}

std::vector<std::string> RandomLanguageModel::Syllables(uint32_t word) {
  static const std::vector<std::string> all = AllSyllables();
  const auto count = static_cast<uint32_t>(all.size());
  std::vector<std::string> syllables;
  // Bijective numeration, so that no two words are spelled alike.
  for (uint32_t rest = word + 1; rest > 0; rest = (rest - 1) / count) {
    syllables.push_back(all[(rest - 1) % count]);
  }
  return syllables;
}

}  // namespace runnel
