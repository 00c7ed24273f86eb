// Finds damage of packets, which FFmpeg's decoders pass over.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_PACKET_CHECK_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_PACKET_CHECK_H_

#include <cstdint>
#include <string>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace runnel::media_decoder {

enum class PacketKind {
  kAudio,
  kTag,     // between or behind frames of MP3, or the beginning of a frame that is cut off
  kDamaged  // bytes that no encoder writes
};

// One thread at a time.
class PacketCheck {
 public:
  // `container`: FFmpeg's name.
  PacketCheck(const std::string& container, AVCodecID codec);

  // Of the next packet of the track.
  PacketKind KindOf(const AVPacket& packet);

 private:
  PacketKind KindOfMp3(const AVPacket& packet);

  const AVCodecID codec_;
  // FFmpeg looks for the frames of MP3 among the bytes, and skips what is none.
  const bool is_mp3_;
  int64_t num_bytes_ = 0;  // of packets of MP3
  int64_t tag_end_ = 0;    // behind the last tag, in these
};

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_PACKET_CHECK_H_
