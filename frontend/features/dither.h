// Reproducible noise for dithering: part of Fbank.

#ifndef RUNNEL_FRONTEND_FEATURES_DITHER_H_
#define RUNNEL_FRONTEND_FEATURES_DITHER_H_

#include <cstddef>
#include <cstdint>

namespace runnel {

// output[i] = samples[i] + deviation * n(seed, frame, i) for i < count, with n normally
// distributed. The noise is a function of its three arguments, not a sequence with a state: each
// frame gets the same noise in any order of computation and in any copy of a stream.
void AddDither(const float* samples, size_t count, float deviation, uint64_t seed, int64_t frame,
               float* output);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_DITHER_H_
