// Recognises the containers of recordings by their first bytes.
#ifndef RUNNEL_FRONTEND_MEDIA_CONTAINER_H_
#define RUNNEL_FRONTEND_MEDIA_CONTAINER_H_

#include <cstddef>
#include <string_view>

namespace runnel {

struct Container {
  const char* name;  // for messages, with its article
  // FFmpeg's name of a container that media_decoder reads; null: libsndfile reads it, or nothing
  // does.
  const char* demuxer;
};

enum class Match { kNo, kMaybe, kYes };  // kMaybe: more bytes tell

// How the bytes of an input match the containers. `begin` holds the first bytes.
struct ContainerMatch {
  Match match = Match::kNo;
  const Container* container = nullptr;  // with kYes
};

// The containers that are known by 4 to 12 bytes. Samples practically never look like one.
ContainerMatch MatchContainer(std::string_view begin);

// MPEG audio without a tag before it: MP3, or AAC in ADTS frames. `num_frames`: how many must
// follow each other. Samples may look like one header; like three, practically never.
ContainerMatch MatchMpegFrames(std::string_view begin, int num_frames);
constexpr int kSureMpegFrames = 3;

// The bytes of the frame of MPEG audio that `begin` begins with; 0: there is none.
size_t MpegFrameBytes(std::string_view begin);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_CONTAINER_H_
