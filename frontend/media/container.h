// Recognises the containers of recordings by their first bytes, and recordings behind others.
#ifndef RUNNEL_FRONTEND_MEDIA_CONTAINER_H_
#define RUNNEL_FRONTEND_MEDIA_CONTAINER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace runnel {

struct Container {
  const char* name;  // for messages, with its article
  // FFmpeg's name of a container that media_decoder reads; null: it does not.
  const char* demuxer;
  // Whether files of it are for libsndfile, also those of strangers.
  bool is_for_libsndfile;
};

extern const Container kWav;
extern const Container kFlac;
extern const Container kOgg;
extern const Container kMatroska;
extern const Container kMp4;
extern const Container kMp3;
extern const Container kAdts;
extern const Container kAiff;
extern const Container kCaf;
extern const Container kAu;
extern const Container kW64;
extern const Container kVoc;
extern const Container kNist;
extern const Container kMpegTs;
extern const Container kAvi;
extern const Container kFlv;
extern const Container kAsf;
// Of Ogg by the codec of its first packet, which only MatchRecording tells.
extern const Container kOggOpus;
extern const Container kOggVorbis;
extern const Container kOggFlac;

// The number that `bytes`, at most 8, are.
uint64_t BigEndian(std::string_view bytes);
uint64_t LittleEndian(std::string_view bytes);

enum class Match { kNo, kMaybe, kYes };  // kMaybe: more bytes tell

// How the bytes of an input match the containers. `begin` holds the first bytes.
struct ContainerMatch {
  Match match = Match::kNo;
  const Container* container = nullptr;  // with kYes
};

// What an input that begins with `begin` is: a container that is known by 4 to 20 bytes, MPEG-TS,
// of which some packets must follow each other (kMostStartBytes), or MPEG
// audio without a tag, of which `num_frames` frames must follow each other. Samples practically
// never begin like a container. They may look like one frame; like kSureMpegFrames, practically
// never.
ContainerMatch MatchContainer(std::string_view begin, int num_frames);
constexpr int kSureMpegFrames = 3;
constexpr size_t kMostStartBytes = 640;  // more tell nothing else with one frame of MPEG audio

// Whether a recording begins with `begin`, by at least 8 bytes' worth of its header, so that it can
// be looked for at every byte of samples or of compressed audio. Not MPEG audio, and not MP4
// without a box "ftyp". More bytes than kRecordingHeadBytes are never looked at.
ContainerMatch MatchRecording(std::string_view begin);
constexpr size_t kRecordingHeadBytes = 64;

// A header of a frame of MPEG audio: MP3, or AAC in ADTS frames.
struct MpegFrame {
  size_t size = 0;    // bytes; 0: there is none
  unsigned kind = 0;  // what all frames of a recording share
  const Container* container = nullptr;
};
constexpr size_t kMpegHeaderBytes = 6;
// `begin` has at least kMpegHeaderBytes bytes.
MpegFrame ReadMpegFrame(std::string_view begin);

// Where MPEG audio begins behind other bytes, such as zeros or a part of a frame: kSureMpegFrames
// frames that follow each other. No value: not within kMostJunkBytes, or before the end.
std::optional<size_t> FindMpegAudio(std::string_view bytes);
constexpr size_t kMostJunkBytes = 1 << 16;
// With room for the frames.
constexpr size_t kJunkSearchBytes = kMostJunkBytes + (1 << 15);

// The bytes of the tag ID3v2 that `begin` begins with; 0: there is none. `begin` has at least
// kId3HeaderBytes bytes.
constexpr size_t kId3HeaderBytes = 10;
uint64_t Id3TagBytes(std::string_view begin);

// The bytes of the frame of MPEG audio that `begin` begins with; 0: there is none.
size_t MpegFrameBytes(std::string_view begin);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_CONTAINER_H_
