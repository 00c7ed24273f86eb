// Finds damage of packets, which FFmpeg's decoders pass over.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_PACKET_CHECK_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_PACKET_CHECK_H_

#include <cstdint>
#include <string>
#include <string_view>

extern "C" {
#include <libavcodec/avcodec.h>
}

namespace runnel::media_decoder {

enum class PacketKind {
  kAudio,
  kHeader,  // of a later stream of Ogg
  kPause,   // of the speaker: 20 ms without speech (DTX of AMR), which FFmpeg does not decode
  kTag,     // between or behind frames of MP3, or other bytes that no frame has followed yet
  kDamaged  // bytes that no encoder writes
};

// One thread at a time.
class PacketCheck {
 public:
  // `container`: FFmpeg's name.
  PacketCheck(const std::string& container, AVCodecID codec);

  // Of the next packet of the track. Removes what stands before a frame of MPEG audio.
  PacketKind KindOf(AVPacket* packet);
  // The bytes before the frame of MP3 that KindOf has found last, which are neither frames nor
  // tags, and where they begin.
  int64_t damaged_bytes() const { return damaged_bytes_; }
  int64_t damage_at() const { return damage_at_; }

 private:
  PacketKind KindOfMp3(AVPacket* packet);
  void TakeGap(std::string_view bytes);

  const AVCodecID codec_;
  // FFmpeg looks for the frames of MP3 among the bytes, and skips what is none.
  const bool is_mp3_;
  const bool is_adts_;
  const bool is_ogg_;
  // Bytes of MP3 behind the last frame, without the tags that they began with. What they are is
  // decided when a frame follows: behind the recording anything may stand.
  std::string gap_;
  int64_t damaged_bytes_ = 0;
  int64_t damage_at_ = 0;
  uint64_t num_to_skip_ = 0;  // of the next bytes, which belong to a tag
};

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_PACKET_CHECK_H_
