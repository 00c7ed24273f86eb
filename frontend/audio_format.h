// Whether an input can be audio at all, judged by its first bytes: part of AudioReader, not meant
// for callers outside the frontend.

#ifndef RUNNEL_FRONTEND_AUDIO_FORMAT_H_
#define RUNNEL_FRONTEND_AUDIO_FORMAT_H_

#include <string>

namespace runnel {

// False if `start`, the first 12 bytes of an input or more, or all that it has, belongs to no
// format that libsndfile reads. True says nothing about what follows.
bool MayBeAudio(const std::string& start);

// True if `start`, of the same kind, begins a WAV (RIFF, RIFX or RF64) or a FLAC file.
bool BeginsAsWavOrFlac(const std::string& start);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_AUDIO_FORMAT_H_
