#include "frontend/sample_range.h"

#include <cmath>
#include <sstream>

namespace runnel {
namespace {

bool IsBad(float sample) { return !(std::abs(sample) <= kMaxAmplitude); }

}  // namespace

size_t FindBadSample(const float* samples, size_t count) {
  // Without branches, so that the loop is cheap: it runs over every sample.
  bool found = false;
  for (size_t i = 0; i < count; ++i) found |= IsBad(samples[i]);
  if (!found) return count;
  size_t bad = 0;
  while (!IsBad(samples[bad])) ++bad;
  return bad;
}

std::string BadSampleMessage(int64_t index, float sample) {
  std::ostringstream message;
  message << "sample " << index << " is " << sample << ", expected samples in [-1, 1]";
  return message.str();
}

}  // namespace runnel
