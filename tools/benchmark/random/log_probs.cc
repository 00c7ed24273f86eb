#include "tools/benchmark/random/log_probs.h"

#include <cmath>
#include <cstddef>
#include <random>

namespace runnel {
namespace {

constexpr int kFramesPerToken = 4;  // 160 ms at 40 ms per encoder frame
constexpr int kConfusions = 4;

// Normalises probabilities and takes their logarithms.
void ToLogProbs(float* row, int size) {
  double sum = 0;
  for (int i = 0; i < size; ++i) sum += static_cast<double>(row[i]);
  for (int i = 0; i < size; ++i) {
    row[i] = static_cast<float>(std::log(static_cast<double>(row[i]) / sum));
  }
}

}  // namespace

std::vector<float> RandomLogProbs(const std::vector<int32_t>& tokens, int vocab_size) {
  std::mt19937 random(1);
  std::exponential_distribution<float> noise(static_cast<float>(vocab_size) / 0.03F);
  std::uniform_int_distribution<int> any_token(1, vocab_size - 1);
  const auto width = static_cast<size_t>(vocab_size);
  std::vector<float> rows(tokens.size() * kFramesPerToken * width);
  float* row = rows.data();
  for (const int32_t token : tokens) {
    for (int frame = 0; frame < kFramesPerToken; ++frame, row += width) {
      for (int i = 0; i < vocab_size; ++i) row[i] = noise(random) + 1e-12F;
      if (frame == 0) {
        for (int i = 0; i < kConfusions; ++i) row[any_token(random)] += 0.05F;
        row[token] += 0.6F;
        row[0] += 0.2F;
      } else {
        row[0] += 0.97F;
      }
      ToLogProbs(row, vocab_size);
    }
  }
  return rows;
}

}  // namespace runnel
