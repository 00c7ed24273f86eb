// Recognises audio formats by their first bytes. Private to AudioReader.
#ifndef RUNNEL_FRONTEND_AUDIO_FORMAT_H_
#define RUNNEL_FRONTEND_AUDIO_FORMAT_H_

#include <string>

namespace runnel {

// False if `start` does not begin any format that libsndfile reads. `start`: at least the first 12
// bytes of an input, or all of a shorter one. True promises nothing about the rest.
bool MayBeAudio(const std::string& start);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_AUDIO_FORMAT_H_
