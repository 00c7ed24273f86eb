// Random ARPA texts, and p(word | words before) as the definition of ARPA models says, by a
// dictionary of n-grams.
#ifndef RUNNEL_TESTS_RUNTIME_NGRAM_ARPA_TEST_SUPPORT_H_
#define RUNNEL_TESTS_RUNTIME_NGRAM_ARPA_TEST_SUPPORT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/language_model.h"
#include "runtime/ngram/arpa_compiler.h"
#include "runtime/ngram/line_reader.h"
#include "runtime/ngram/ngram_model.h"

namespace runnel {

using WordSequence = std::vector<std::string>;

// An n-gram with its numbers as texts; no back-off weight is "".
struct TextNgram {
  WordSequence words;
  std::string log10_prob;
  std::string log10_backoff;
};

struct TextModel {
  std::vector<std::vector<TextNgram>> sections;  // by length, from 1
  std::string separator = "\t";
  std::string line_end = "\n";

  std::string Arpa() const {
    std::string text = "\\data\\" + line_end;
    for (size_t k = 0; k < sections.size(); ++k) {
      text +=
          "ngram " + std::to_string(k + 1) + "=" + std::to_string(sections[k].size()) + line_end;
    }
    for (size_t k = 0; k < sections.size(); ++k) {
      text += line_end + "\\" + std::to_string(k + 1) + "-grams:" + line_end;
      for (const TextNgram& ngram : sections[k]) {
        text += ngram.log10_prob;
        for (const std::string& word : ngram.words) {
          text += (&word == &ngram.words.front() ? separator : " ") + word;
        }
        if (!ngram.log10_backoff.empty()) text += separator + ngram.log10_backoff;
        text += line_end;
      }
    }
    return text + line_end + "\\end\\" + line_end;
  }
};

// Looks up n-grams by the definition.
class TextDictionary {
 public:
  explicit TextDictionary(const TextModel& model) : order_(model.sections.size()) {
    for (const auto& section : model.sections) {
      for (const TextNgram& ngram : section) {
        ngrams_[ngram.words] = {std::max(std::strtof(ngram.log10_prob.c_str(), nullptr), -99.0F),
                                std::strtof(ngram.log10_backoff.c_str(), nullptr)};
      }
    }
    for (const char* unknown : {"<UNK>", "<unk>"}) {
      if (Has(unknown)) unknown_ = unknown;
    }
  }

  bool Has(const std::string& word) const { return ngrams_.count({word}) > 0; }
  const std::string& unknown() const { return unknown_; }  // "" where the model has no <unk>

  double Log10Prob(WordSequence history, const std::string& word) const {
    for (std::string& before : history) {
      if (!Has(before)) before = unknown_;
    }
    if (!Has(word) && unknown_.empty()) return 0;
    const size_t longest = std::min(history.size(), order_ - 1);
    history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(longest));
    return BackOff(history, Has(word) ? word : unknown_);
  }

 private:
  struct Numbers {
    float log10_prob;
    float log10_backoff;
  };

  double BackOff(WordSequence history, const std::string& word) const {
    WordSequence ngram = history;
    ngram.push_back(word);
    if (const auto found = ngrams_.find(ngram); found != ngrams_.end()) {
      return found->second.log10_prob;
    }
    const auto context = ngrams_.find(history);
    const double backoff = context == ngrams_.end() ? 0 : context->second.log10_backoff;
    history.erase(history.begin());
    return backoff + BackOff(history, word);
  }

  size_t order_;
  std::map<WordSequence, Numbers> ngrams_;
  std::string unknown_;
};

inline std::string RandomNumber(std::mt19937* random, double min, double max) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g",
                std::uniform_real_distribution<double>(min, max)(*random));
  return text;
}

// N-grams of `words`, which are all 1-grams. Beginnings and ends of n-grams may be missing. Some
// back-off weights are missing, some are positive.
inline TextModel RandomTextModel(std::mt19937* random, const WordSequence& words, int order,
                                 size_t most_per_section = 40) {
  const auto below = [random](size_t bound) { return (*random)() % bound; };
  TextModel model;
  for (int length = 1; length <= order; ++length) {
    std::map<WordSequence, TextNgram> section;
    const auto add = [&](const WordSequence& ngram) {
      TextNgram& added = section[ngram];
      added = {ngram, RandomNumber(random, -5, 0), ""};
      if (ngram == WordSequence{"<s>"}) added.log10_prob = below(2) == 0 ? "-99" : "-inf";
      if (length < order && below(4) > 0) added.log10_backoff = RandomNumber(random, -2, 0.5);
    };
    if (length == 1) {
      for (const std::string& word : words) add({word});
    }
    for (size_t i = below(most_per_section); length > 1 && i > 0; --i) {
      WordSequence ngram;
      // Half of them extend a shorter one, at its end or at its beginning.
      const auto& shorter = model.sections.back();
      if (!shorter.empty() && below(2) == 0) {
        ngram = shorter[below(shorter.size())].words;
        ngram.insert(below(2) == 0 ? ngram.begin() : ngram.end(), words[below(words.size())]);
      }
      while (static_cast<int>(ngram.size()) < length) ngram.push_back(words[below(words.size())]);
      add(ngram);
    }
    model.sections.emplace_back();
    for (const auto& [key, ngram] : section) model.sections.back().push_back(ngram);
  }
  return model;
}

inline MappedBytes CompileText(std::string_view text, const std::string& source = "lm.arpa") {
  size_t at = 0;
  LineReader lines(
      [&](char* buffer, size_t size) {
        const size_t count = std::min(size, text.size() - at);
        std::memcpy(buffer, text.data() + at, count);
        at += count;
        return count;
      },
      text.size(), source);
  return CompileArpa(&lines, {});
}

inline std::unique_ptr<const NgramModel> ModelOfText(std::string_view text) {
  return std::make_unique<const NgramModel>(CompileText(text), "lm.arpa");
}

inline std::shared_ptr<const LanguageModel> LanguageModelOfText(std::string_view text) {
  return std::make_shared<const LanguageModel>(ModelOfText(text));
}

}  // namespace runnel

#endif  // RUNNEL_TESTS_RUNTIME_NGRAM_ARPA_TEST_SUPPORT_H_
