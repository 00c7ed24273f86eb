#include "frontend/what_follows.h"

#include <cstddef>

#include "frontend/media/flac_end.h"
#include "frontend/media/recording_scanner.h"
#include "frontend/media/wav_chunks.h"
#include "platform/file_descriptor.h"

namespace runnel {

Follower AnotherRecording(const Container& next) {
  return {std::string("another recording (") + next.name + ") follows", "one"};
}

std::optional<Follower> FindOtherRecording(const Container* first, int fd, off_t begin) {
  constexpr size_t kBlockBytes = 1 << 18;
  RecordingScanner scanner(first);
  while (scanner.found() == nullptr) {
    const std::string block = ReadAt(fd, begin, kBlockBytes);
    if (block.empty()) return std::nullopt;
    scanner.Push(block);
    begin += static_cast<off_t>(block.size());
  }
  return AnotherRecording(*scanner.found());
}

std::optional<Follower> WhatFollowsSamples(const Container& container, int fd, off_t begin) {
  if (&container == &kWav) return WhatFollowsWav(ReadWavEnd(fd, begin));
  if (&container != &kFlac || !HasBytesBehindFlac(fd, begin)) return std::nullopt;
  return Follower{"bytes that are not FLAC follow", "the end of the file"};
}

std::optional<Follower> WhatFollowsWav(const WavEnd& end) {
  switch (end.found) {
    case WavTail::Found::kNothing:
      break;
    case WavTail::Found::kRecording:
      return AnotherRecording(*end.recording);
    case WavTail::Found::kData:
      return Follower{"a second chunk of samples follows", "one"};
    case WavTail::Found::kOther: {
      const std::string count =
          end.num_bytes.has_value() ? std::to_string(*end.num_bytes) + " " : "";
      return Follower{count + "bytes that are no chunk follow", "the end of the WAV file"};
    }
  }
  return std::nullopt;
}

}  // namespace runnel
