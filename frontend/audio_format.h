// Recognises audio formats by their first bytes. Private to AudioReader.
#ifndef RUNNEL_FRONTEND_AUDIO_FORMAT_H_
#define RUNNEL_FRONTEND_AUDIO_FORMAT_H_

#include <sys/types.h>

#include <string>

#include "frontend/media/container.h"

namespace runnel {

// False if `start` does not begin any format that libsndfile reads. `start`: at least the first 12
// bytes of an input, or all of a shorter one. True promises nothing about the rest.
bool MayBeAudio(const std::string& start);

// Whether `start`, the same, may begin what media_decoder reads.
bool MayBeMedia(const std::string& start);

// The functions below take a file that can seek and the offset of its first byte. They do not move
// its position, and treat bytes that cannot be read as missing.

// The offset behind the tags that some programs put before MP3 and FLAC.
off_t SkipTags(int fd, off_t begin);

// Whether libsndfile would read a MIDI sample dump (SDS). `begin` is behind the tags.
bool IsSampleDump(int fd, off_t begin);

// The container of the file; null: one that only libsndfile may know. `begin` is behind the tags.
const Container* FileContainer(int fd, off_t begin);

// What may be given to strangers.
extern const char* const kCommonFormats;

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_AUDIO_FORMAT_H_
