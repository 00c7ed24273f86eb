// Reads a whole recording into memory.
#ifndef RUNNEL_TOOLS_VERIFICATION_WHOLE_AUDIO_H_
#define RUNNEL_TOOLS_VERIFICATION_WHOLE_AUDIO_H_

#include <string>
#include <vector>

#include "frontend/audio_reader.h"

namespace runnel {

// The mono samples of an audio file ("-": standard input) at `sample_rate_hz`. Throws as
// AudioSource does.
std::vector<float> ReadSamples(const std::string& path, int sample_rate_hz,
                               const AudioReaderOptions& options);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_WHOLE_AUDIO_H_
