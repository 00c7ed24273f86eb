// The messages between a program and its media_decoder, over one stream socket.
//
//   request: uint32 size, then `size` bytes of the recording. Size 0: it has ended. A decoder of a
//            file gets no requests: it reads the file itself.
//   reply:   MediaReplyHeader, then its `size` bytes.
//
// The decoder answers a request with the samples that it completes, then kHungry: so the replies
// depend on the bytes alone. The format precedes the first samples. kEnd or kError is the last
// reply. Warnings come anywhere before it. Both programs run on one machine and have its byte
// order. Private to MediaProcess and media_decoder.
#ifndef RUNNEL_FRONTEND_MEDIA_MEDIA_PROTOCOL_H_
#define RUNNEL_FRONTEND_MEDIA_MEDIA_PROTOCOL_H_

#include <cstddef>
#include <cstdint>

namespace runnel {

enum class MediaReply : uint32_t {
  kFormat = 1,   // MediaFormatReply
  kSamples = 2,  // float32, mono
  kHungry = 3,   // nothing: more bytes are needed for the next samples
  kEnd = 4,      // MediaEndReply
  kError = 5,    // text: the rest of a sentence whose subject is the recording
  kWarning = 6   // the same, of a recording that is decoded nevertheless
};

struct MediaReplyHeader {
  MediaReply type;
  uint32_t size;  // bytes that follow; at most kMaxMediaReplyBytes
};

struct MediaFormatReply {
  int32_t rate_hz;   // of all samples
  int32_t channels;  // of the recording at its beginning
};

struct MediaEndReply {
  int64_t missing_samples;  // that the recording announces and does not have; 0: none known
};

constexpr size_t kMaxMediaRequestBytes = size_t{1} << 16;
constexpr size_t kMaxMediaReplyBytes = size_t{1} << 16;
// Of a recording. A warning is one line, which names a few places and counts the others.
constexpr size_t kMaxMediaWarnings = 16;

// The descriptors of a decoder: of the file, or of nothing, and of the socket.
constexpr int kMediaFile = 0;
constexpr int kMediaSocket = 1;

// What is decoded of a recording; both are counted from 0.
struct MediaChoice {
  int channel = -1;      // -1: the mean of all
  int audio_track = -1;  // -1: the one that FFmpeg prefers
  // Whether damage is an error. Otherwise the rest is decoded, with a warning.
  bool is_strict = false;
};

// Its arguments: one of these, FFmpeg's name of the container, the two numbers of a MediaChoice,
// and one of the last two.
constexpr const char* kMediaOfFile = "file";
constexpr const char* kMediaOfStream = "stream";
constexpr const char* kMediaStrict = "strict";
constexpr const char* kMediaLenient = "lenient";

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_MEDIA_PROTOCOL_H_
