// Says what follows a recording in its input. Private to AudioReader.
#ifndef RUNNEL_FRONTEND_WHAT_FOLLOWS_H_
#define RUNNEL_FRONTEND_WHAT_FOLLOWS_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "frontend/media/container.h"
#include "frontend/wav_stream.h"

namespace runnel {

// What must not follow.
struct Follower {
  std::string what;      // a sentence without its end
  std::string expected;  // in its place
};

Follower AnotherRecording(const Container& next);

// The functions below return no value when nothing follows but what may. They take a file that can
// seek and the offset of the recording, and do not move the position of the file.

// Looks at all bytes, as RecordingScanner does, but at no tag at the end. `first`: the container of
// the recording; null: another one.
std::optional<Follower> FindOtherRecording(const Container* first, int fd, off_t begin);

// Looks at what stands behind the samples of WAV or FLAC whose header has their number; of other
// containers at nothing. Throws std::system_error if reading fails.
std::optional<Follower> WhatFollowsSamples(const Container& container, int fd, off_t begin);

std::optional<Follower> WhatFollowsWav(const WavEnd& end);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_WHAT_FOLLOWS_H_
