// The range of samples, which everything that takes samples from outside checks.
#ifndef RUNNEL_FRONTEND_SAMPLE_RANGE_H_
#define RUNNEL_FRONTEND_SAMPLE_RANGE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace runnel {

// Samples are in [-1, 1]; gains, and recorders that write floating-point numbers, go beyond. A
// larger magnitude has another scale, such as that of 16-bit integers, and would be recognised as
// wrong text.
constexpr float kMaxAmplitude = 100.0F;

// The index of the first sample that is NaN or beyond kMaxAmplitude in magnitude; `count` if there
// is none.
size_t FindBadSample(const float* samples, size_t count);

// What to say of a sample that FindBadSample found; `index`: its place in the audio.
std::string BadSampleMessage(int64_t index, float sample);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_SAMPLE_RANGE_H_
