// Reproducible noise for dithering: part of Fbank, not meant for callers outside the frontend.

#ifndef RUNNEL_FRONTEND_DITHER_H_
#define RUNNEL_FRONTEND_DITHER_H_

#include <cstddef>
#include <cstdint>

namespace runnel {

// output[i] = samples[i] + deviation * n(seed, frame, i) for i < count, with n normally
// distributed. The noise is a function of its three arguments, not a sequence with a state:
// whatever order frames are computed in, and by whichever copy of a stream, each gets the same
// noise.
void AddDither(const float* samples, std::size_t count, float deviation, std::uint64_t seed,
               std::int64_t frame, float* output);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_DITHER_H_
