#include "tools/media_decoder/packet_check.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "frontend/media/container.h"
#include "frontend/media/tags.h"

namespace runnel::media_decoder {
namespace {

constexpr size_t kMinMpegFrameBytes = 24;
// Tags between the frames of MP3 that have no header are smaller.
constexpr size_t kMostGapBytes = 1 << 20;
// No encoder of a compressed format writes so many zeros alone; a hole in a file has them.
constexpr size_t kMinBlankBytes = 12;

std::string_view BytesOf(const AVPacket& packet) {
  return {reinterpret_cast<const char*>(packet.data), static_cast<size_t>(packet.size)};
}

void RemoveBegin(AVPacket* packet, size_t count) {
  packet->data += count;
  packet->size -= static_cast<int>(count);
}

// PCM, G.722 and G.726 have a fixed number of bits, and G.723.1 a fixed number of bytes: zeros may
// be silence.
bool HasBlankPackets(AVCodecID codec) {
  return av_get_exact_bits_per_sample(codec) > 0 || codec == AV_CODEC_ID_G723_1;
}

bool IsBlank(std::string_view bytes) {
  return bytes.size() >= kMinBlankBytes && bytes.find_first_not_of('\0') == std::string_view::npos;
}

// Of a stream of Ogg. FFmpeg gives those of later streams of a chain like audio.
bool IsHeader(AVCodecID codec, std::string_view bytes) {
  if (codec == AV_CODEC_ID_OPUS) {
    const std::string_view magic = bytes.substr(0, 8);
    return magic == "OpusHead" || magic == "OpusTags";
  }
  // Behind the first header, blocks with a type of 1 to 126; the last has the highest bit.
  const unsigned first = bytes.empty() ? 0 : static_cast<unsigned char>(bytes[0]);
  return codec == AV_CODEC_ID_FLAC && (first & 0x7F) != 0 && first != 0xFF;
}

// Three bits of the byte before every frame are always 0.
bool IsAmrHead(std::string_view bytes) {
  constexpr unsigned kPadding = 0x83;
  return !bytes.empty() && (static_cast<unsigned char>(bytes[0]) & kPadding) == 0;
}

// Where the frame begins that `packet` begins or ends with; the size: there is none.
size_t FindMpegFrame(std::string_view packet) {
  if (MpegFrameBytes(packet) > 0) return 0;
  size_t at = 0;
  do {
    at = packet.find('\xFF', at + 1);
    if (at == std::string_view::npos) return packet.size();
  } while (MpegFrameBytes(packet.substr(at)) != packet.size() - at);
  return at;
}

// The type of a frame (3GPP TS 26.101 and 26.201, table 1a): comfort noise, or no data.
bool IsAmrPause(AVCodecID codec, std::string_view bytes) {
  constexpr size_t kMostPauseBytes = 7;
  constexpr unsigned kLost = 14, kNoData = 15;
  const unsigned type = static_cast<unsigned char>(bytes[0]) >> 3 & 0xF;
  if (bytes.size() > kMostPauseBytes) return false;  // several frames
  if (codec == AV_CODEC_ID_AMR_NB) return (type >= 8 && type <= 11) || type == kNoData;
  return type == 9 || type == kLost || type == kNoData;
}

}  // namespace

PacketCheck::PacketCheck(const std::string& container, AVCodecID codec)
    : codec_(codec),
      is_mp3_(container == "mp3" || (container == "wav" && codec == AV_CODEC_ID_MP3)),
      is_adts_(container == "aac"),
      is_ogg_(container == "ogg") {}

PacketKind PacketCheck::KindOf(AVPacket* packet) {
  if (is_mp3_) return KindOfMp3(packet);
  // What stands between frames of AAC is examined by AdtsCheck.
  if (is_adts_) RemoveBegin(packet, FindMpegFrame(BytesOf(*packet)));
  const std::string_view bytes = BytesOf(*packet);
  if (bytes.empty()) return PacketKind::kTag;
  if (is_ogg_ && IsHeader(codec_, bytes)) return PacketKind::kHeader;
  if (codec_ == AV_CODEC_ID_AMR_NB || codec_ == AV_CODEC_ID_AMR_WB) {
    if (!IsAmrHead(bytes)) return PacketKind::kDamaged;
    if (IsAmrPause(codec_, bytes)) return PacketKind::kPause;
  }
  return !HasBlankPackets(codec_) && IsBlank(bytes) ? PacketKind::kDamaged : PacketKind::kAudio;
}

void PacketCheck::TakeGap(std::string_view bytes) {
  if (gap_.size() > kMostGapBytes) return;
  gap_ += bytes;
  while (const uint64_t tag_bytes = TagBytes(gap_)) {
    num_to_skip_ = tag_bytes - std::min<uint64_t>(tag_bytes, gap_.size());
    gap_.erase(0, static_cast<size_t>(tag_bytes - num_to_skip_));
  }
}

// Bytes that are no frame are the beginning of a packet, a packet or the end of one.
PacketKind PacketCheck::KindOfMp3(AVPacket* packet) {
  std::string_view rest = BytesOf(*packet);
  const auto num_skipped = static_cast<size_t>(std::min<uint64_t>(num_to_skip_, rest.size()));
  num_to_skip_ -= num_skipped;
  rest.remove_prefix(num_skipped);
  const size_t frame_at = FindMpegFrame(rest);
  TakeGap(rest.substr(0, frame_at));
  rest.remove_prefix(frame_at);
  if (rest.empty()) return PacketKind::kTag;
  if (num_to_skip_ > 0) {  // a frame within a tag
    num_to_skip_ -= std::min<uint64_t>(num_to_skip_, rest.size());
    return PacketKind::kTag;
  }
  // Fewer bytes may be a frame that is cut off.
  const bool is_hole = frame_at > 0 || gap_.size() > kMinMpegFrameBytes;
  damaged_bytes_ = is_hole && !AreTags(gap_) ? static_cast<int64_t>(gap_.size()) : 0;
  damage_at_ = packet->pos + static_cast<int64_t>(num_skipped + frame_at) - damaged_bytes_;
  gap_.clear();
  const size_t frame_bytes = std::min(MpegFrameBytes(rest), rest.size());
  rest.remove_prefix(frame_bytes);
  const bool is_gap = rest.size() > std::max(frame_bytes, kMinMpegFrameBytes);
  if (is_gap || TagBytes(rest) > 0) TakeGap(rest);
  RemoveBegin(packet, num_skipped + frame_at);
  return PacketKind::kAudio;
}

}  // namespace runnel::media_decoder
