// Prints log10 p(word | words before) of every word of standard input, for tests in Python:
//   print_log10_probs LM < sentences
// Each line is a sentence, which begins after <s>, and gives a line of as many numbers.
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "runtime/language_model.h"
#include "runtime/ngram/ngram_model.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: print_log10_probs LM\n");
    return 2;
  }
  try {
    const auto model = runnel::LanguageModel::Load(argv[1]);
    const runnel::NgramModel& ngrams = model->ngrams();
    for (std::string line; std::getline(std::cin, line);) {
      runnel::NgramModel::Context context = ngrams.Start();
      std::istringstream words(line);
      for (std::string word; words >> word;) {
        std::printf("%.9g ", ngrams.Log10Prob(context, ngrams.WordId(word), &context));
      }
      std::printf("\n");
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "print_log10_probs: %s\n", error.what());
    return 1;
  }
  return 0;
}
