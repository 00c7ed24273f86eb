#include "tools/media_decoder/packet_check.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "frontend/media/container.h"
#include "tools/media_decoder/mpeg_tag.h"

namespace runnel::media_decoder {
namespace {

constexpr size_t kMinMpegFrameBytes = 24;
// No encoder of a compressed format writes so many zeros alone; a hole in a file has them.
constexpr size_t kMinBlankBytes = 12;

std::string_view BytesOf(const AVPacket& packet) {
  return {reinterpret_cast<const char*>(packet.data), static_cast<size_t>(packet.size)};
}

// PCM, G.722 and G.726 have a fixed number of bits, and G.723.1 a fixed number of bytes: zeros may
// be silence.
bool HasBlankPackets(AVCodecID codec) {
  return av_get_exact_bits_per_sample(codec) > 0 || codec == AV_CODEC_ID_G723_1;
}

bool IsBlank(std::string_view bytes) {
  return bytes.size() >= kMinBlankBytes && bytes.find_first_not_of('\0') == std::string_view::npos;
}

// Three bits of the byte before every frame are always 0.
bool IsAmrHead(std::string_view bytes) {
  constexpr unsigned kPadding = 0x83;
  return !bytes.empty() && (static_cast<unsigned char>(bytes[0]) & kPadding) == 0;
}

}  // namespace

PacketCheck::PacketCheck(const std::string& container, AVCodecID codec)
    : codec_(codec),
      is_mp3_(container == "mp3" || (container == "wav" && codec == AV_CODEC_ID_MP3)) {}

PacketKind PacketCheck::KindOf(const AVPacket& packet) {
  const std::string_view bytes = BytesOf(packet);
  if (is_mp3_) return KindOfMp3(packet);
  const bool is_amr = codec_ == AV_CODEC_ID_AMR_NB || codec_ == AV_CODEC_ID_AMR_WB;
  if (is_amr && !IsAmrHead(bytes)) return PacketKind::kDamaged;
  return !HasBlankPackets(codec_) && IsBlank(bytes) ? PacketKind::kDamaged : PacketKind::kAudio;
}

// Bytes that are no frame are a packet or the end of one.
PacketKind PacketCheck::KindOfMp3(const AVPacket& packet) {
  const int64_t begin = num_bytes_;
  num_bytes_ += packet.size;
  if (begin < tag_end_) return PacketKind::kTag;
  std::string_view rest = BytesOf(packet);
  const size_t frame_bytes = std::min(MpegFrameBytes(rest), rest.size());
  rest.remove_prefix(frame_bytes);
  const int64_t tag_bytes = TagBytes(rest);
  if (tag_bytes > 0) tag_end_ = begin + static_cast<int64_t>(frame_bytes) + tag_bytes;
  // Fewer bytes may be a frame that is cut off.
  if (tag_bytes == 0 && rest.size() > std::max(frame_bytes, kMinMpegFrameBytes)) {
    return PacketKind::kDamaged;
  }
  return frame_bytes > 0 ? PacketKind::kAudio : PacketKind::kTag;
}

}  // namespace runnel::media_decoder
