// A transducer search that finds as many tokens as there are in speech, whatever the weights are.
#ifndef RUNNEL_TOOLS_BENCHMARK_RANDOM_TOKEN_SEARCH_H_
#define RUNNEL_TOOLS_BENCHMARK_RANDOM_TOKEN_SEARCH_H_

#include <cstdint>
#include <random>
#include <vector>

#include "runtime/search/transducer_greedy_search.h"

namespace runnel {

// Greedy search, but a random generator decides whether the next label is a token, and which. The
// time of a search depends on the number of its tokens. Random weights give none or too many, and a
// trained model finds hardly any in noise.
class RandomTokenSearch final : public TransducerGreedySearch {
 public:
  // Mean of the tokens per encoder frame: a third, as in English with a vocabulary of 1024 word
  // pieces and encoder frames of 80 ms.
  static constexpr double kTokensPerFrame = 1.0 / 3;

  // `transducer` must outlive the search. Searches with the same seed find the same tokens.
  RandomTokenSearch(const Transducer& transducer, uint32_t seed);

  void Answer(const float* log_probs) override;

 private:
  int32_t RandomLabel();

  TransducerConfig config_;
  std::minstd_rand generator_;
  std::vector<float> log_probs_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_RANDOM_TOKEN_SEARCH_H_
