// A test signal for models when there is no recording.
#ifndef RUNNEL_TOOLS_CLI_SPEECH_NOISE_H_
#define RUNNEL_TOOLS_CLI_SPEECH_NOISE_H_

#include <cstdint>
#include <vector>

namespace runnel {

// Noise with the spectral tilt of speech, in syllables of random length and level, some of them
// followed by a pause. Samples lie within [-1, 1]. The same seed gives the same samples on every
// machine.
std::vector<float> SpeechShapedNoise(double seconds, int sample_rate_hz, uint64_t seed);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_SPEECH_NOISE_H_
