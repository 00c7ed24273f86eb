#include "tools/benchmark/random/token_search.h"

namespace runnel {

RandomTokenSearch::RandomTokenSearch(const Transducer& transducer, uint32_t seed)
    : TransducerGreedySearch(transducer),
      config_(transducer.config()),
      generator_(seed + 1) {}  // 0 would be replaced by 1

void RandomTokenSearch::Answer(const float* log_probs) {
  log_probs_.assign(log_probs, log_probs + config_.num_outputs());
  log_probs_[static_cast<size_t>(RandomLabel())] = 1;  // above all logarithms of probabilities
  TransducerGreedySearch::Answer(log_probs_.data());
}

int32_t RandomTokenSearch::RandomLabel() {
  // A label is a token with probability p, so that a frame has p / (1 - p) tokens in the mean.
  std::bernoulli_distribution is_token(kTokensPerFrame / (1 + kTokensPerFrame));
  if (!is_token(generator_)) return config_.blank_id;
  std::uniform_int_distribution<int32_t> other(1, config_.vocab_size - 1);  // never the blank
  return (config_.blank_id + other(generator_)) % config_.vocab_size;
}

}  // namespace runnel
