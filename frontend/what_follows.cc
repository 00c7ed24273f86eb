#include "frontend/what_follows.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "frontend/media/flac_end.h"
#include "frontend/media/recording_scanner.h"
#include "frontend/media/tags.h"
#include "frontend/media/wav_chunks.h"
#include "platform/file_descriptor.h"

namespace runnel {

Follower AnotherRecording(const Container& next) {
  return {std::string("another recording (") + next.name + ") follows", "one"};
}

namespace {

// Where the tags begin that end at the end of the file.
off_t BeginOfLastTags(int fd, off_t begin) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0 || status.st_size <= begin) return begin;
  const auto read = [fd, begin](uint64_t offset, size_t size) {
    return ReadAt(fd, begin + static_cast<off_t>(offset), size);
  };
  return begin + static_cast<off_t>(TagsAtEnd(static_cast<uint64_t>(status.st_size - begin), read));
}

}  // namespace

std::optional<Follower> FindOtherRecording(const Container* first, int fd, off_t begin) {
  constexpr size_t kBlockBytes = 1 << 18;
  if (first == &kWav) {  // of a known size
    const std::optional<DataSize> size = ReadWavDataSize(fd, begin);
    if (size.has_value() && size->present == size->announced) {
      const WavEnd end = ReadWavEnd(fd, begin);
      if (end.found != WavTail::Found::kRecording) return std::nullopt;
      return AnotherRecording(*end.recording);
    }
  }
  RecordingScanner scanner(first);
  const off_t end = BeginOfLastTags(fd, begin);
  while (scanner.found() == nullptr) {
    const auto size = static_cast<size_t>(std::clamp<off_t>(end - begin, 0, kBlockBytes));
    const std::string block = ReadAt(fd, begin, size);
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
