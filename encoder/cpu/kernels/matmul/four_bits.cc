#include "encoder/cpu/kernels/matmul/four_bits.h"

#include <algorithm>
#include <cmath>

namespace runnel::kernels {
namespace {

constexpr int64_t kOutputs = 32;     // of a panel
constexpr int64_t kGroupInputs = 4;  // of an int8 panel
constexpr int kMaxValue = 15;
constexpr int kMaxScale = 17;  // 15 steps of it are the range of int8
constexpr float kMaxWeight = 127.0f;

// The value of a weight for the group's scale and minimum. Returns the rounding error.
float RoundValue(float weight, int64_t input, FourBitGroup* group) {
  const float scale = group->scale;
  const float minimum = group->minimum;
  // Larger values would be no int8.
  const float most = std::min<float>(kMaxValue, std::floor((kMaxWeight - minimum) / scale));
  const float value = std::clamp(std::nearbyint((weight - minimum) / scale), 0.0f, most);
  group->values[input] = static_cast<uint8_t>(value);
  return weight - minimum - scale * value;
}

// All values. Returns the sum of the squared errors.
float RoundValues(const float* weights, FourBitGroup* group) {
  float sum = 0.0f;
  for (int64_t i = 0; i < kFourBitInputs; ++i) {
    const float error = RoundValue(weights[i], i, group);
    sum += error * error;
  }
  return sum;
}

// The minimum that fits these values best.
int8_t BestMinimum(const float* weights, const FourBitGroup& group) {
  float sum = 0.0f;
  for (int64_t i = 0; i < kFourBitInputs; ++i) {
    sum += weights[i] - static_cast<float>(group.scale * group.values[i]);
  }
  return static_cast<int8_t>(
      std::clamp(std::nearbyint(sum / kFourBitInputs), -kMaxWeight, kMaxWeight));
}

}  // namespace

FourBitGroup RoundToFourBits(const float* weights) {
  const auto [smallest, largest] = std::minmax_element(weights, weights + kFourBitInputs);
  // The range in 15 steps, or less of it in smaller ones: a few weights at its ends lose, the
  // others gain.
  const float whole_range = (*largest - *smallest) / kMaxValue;
  const int most = std::clamp(static_cast<int>(std::ceil(whole_range)), 1, kMaxScale);
  const int least = std::max(static_cast<int>(std::floor(0.7f * whole_range)), 1);
  FourBitGroup best{};
  float least_error = -1.0f;
  for (int scale = least; scale <= most; ++scale) {
    FourBitGroup group{};
    group.scale = static_cast<int8_t>(scale);
    // The range's middle in the middle of the values.
    const float middle = 0.5f * (*smallest + *largest);
    group.minimum = static_cast<int8_t>(
        std::clamp(std::nearbyint(middle - 0.5f * static_cast<float>(kMaxValue * scale)),
                   -kMaxWeight, kMaxWeight));
    float error = RoundValues(weights, &group);
    for (int round = 0; round < 4; ++round) {
      FourBitGroup next = group;
      next.minimum = BestMinimum(weights, group);
      if (next.minimum == group.minimum) break;
      const float next_error = RoundValues(weights, &next);
      if (next_error >= error) break;
      group = next;
      error = next_error;
    }
    if (least_error < 0 || error < least_error) {
      best = group;
      least_error = error;
    }
  }
  return best;
}

void RoundToFourBits(const ErrorFeedback& feedback, std::vector<float> weights,
                     FourBitGroup* groups) {
  for (int64_t first = 0; first < feedback.dim(); first += kFourBitInputs, ++groups) {
    // Feedback may have moved weights out of the range of int8.
    const auto begin = weights.begin() + first;
    std::transform(begin, begin + kFourBitInputs, begin,
                   [](float weight) { return std::clamp(weight, -kMaxWeight, kMaxWeight); });
    *groups = RoundToFourBits(weights.data() + first);
    for (int64_t i = 0; i < std::min(kFourBitInputs, feedback.dim() - first); ++i) {
      const float error = RoundValue(weights[static_cast<size_t>(first + i)], i, groups);
      feedback.Spread(first + i, error, weights.data());
    }
  }
}

void StoreFourBitPanel(const FourBitGroup* groups, int64_t num_groups, uint8_t* to) {
  for (int64_t g = 0; g < num_groups; ++g) {
    const auto group = [&](int64_t n) -> const FourBitGroup& { return groups[n * num_groups + g]; };
    for (int64_t n = 0; n < kOutputs; ++n) *to++ = static_cast<uint8_t>(group(n).scale);
    for (int64_t n = 0; n < kOutputs; ++n) *to++ = static_cast<uint8_t>(group(n).minimum);
    for (int64_t pair = 0; pair < kFourBitPairs; ++pair) {
      for (int64_t n = 0; n < kOutputs; ++n) {
        const uint8_t* values = group(n).values + 2 * kGroupInputs * pair;
        for (int64_t i = 0; i < kGroupInputs; ++i) {
          *to++ = static_cast<uint8_t>(values[i] | values[i + kGroupInputs] << 4);
        }
      }
    }
  }
}

int8_t FourBitWeight(const uint8_t* panel, int64_t output, int64_t input) {
  const uint8_t* block = panel + input / kFourBitInputs * kFourBitBlockBytes;
  const int64_t pair = input % kFourBitInputs / (2 * kGroupInputs);
  const int64_t half = input % (2 * kGroupInputs) / kGroupInputs;
  const uint8_t byte =
      block[kFourBitScaleBytes + (pair * kOutputs + output) * kGroupInputs + input % kGroupInputs];
  return static_cast<int8_t>(block[output] * (byte >> (4 * half) & kMaxValue) +
                             block[kOutputs + output]);
}

bool HasFourBitScales(const uint8_t* panel, int64_t num_blocks) {
  for (int64_t block = 0; block < num_blocks; ++block, panel += kFourBitBlockBytes) {
    if (*std::max_element(panel, panel + kOutputs) > kMaxScale) return false;
  }
  return true;
}

void ExpandFourBitPanel(const uint8_t* panel, int64_t num_blocks, uint8_t* to) {
  constexpr int64_t kGroupStep = kOutputs * kGroupInputs;
  for (int64_t block = 0; block < num_blocks; ++block) {
    const uint8_t* values = panel + kFourBitScaleBytes;
    for (int64_t pair = 0; pair < kFourBitPairs; ++pair, to += 2 * kGroupStep) {
      for (int64_t i = 0; i < kGroupStep; ++i) {
        const uint8_t scale = panel[i / kGroupInputs];
        const uint8_t minimum = panel[kOutputs + i / kGroupInputs];
        const uint8_t byte = *values++;
        to[i] = static_cast<uint8_t>(scale * (byte & kMaxValue) + minimum);
        to[kGroupStep + i] = static_cast<uint8_t>(scale * (byte >> 4) + minimum);
      }
    }
    panel += kFourBitBlockBytes;
  }
}

}  // namespace runnel::kernels
