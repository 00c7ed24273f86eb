// A signal for verifying models without recordings.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_VERIFICATION_NOISE_H_
#define RUNNEL_TOOLS_VERIFICATION_NOISE_H_

#include <cstdint>
#include <vector>

namespace runnel {

// Noise with the tilt of speech, in syllables of random length and level with pauses between some
// of them: within [-1, 1]. The same seed gives the same samples.
std::vector<float> SpeechShapedNoise(double seconds, int sample_rate_hz, uint64_t seed);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_NOISE_H_
