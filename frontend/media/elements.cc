#include "frontend/media/elements.h"

#include <algorithm>
#include <array>

#include "frontend/media/tags.h"
#include "frontend/media/wav_chunks.h"

namespace runnel {
namespace {

using Size = std::optional<uint64_t>;

constexpr uint64_t kNoElement = 0;
constexpr uint64_t kMostElementBytes = uint64_t{1} << 60;

// SeekHead, Info, Tracks, Cues, Chapters, Tags, Attachments, Void, CRC-32.
constexpr std::array<uint32_t, 9> kOfSegment = {0x114D9B74, 0x1549A966, kMatroskaTracks,
                                                0x1C53BB6B, 0x1043A770, 0x1254C367,
                                                0x1941A469, 0xEC,       0xBF};
// Timestamp, SilentTracks, Position, PrevSize, SimpleBlock, BlockGroup, EncryptedBlock, Void,
// CRC-32.
constexpr std::array<uint32_t, 9> kOfCluster = {0xE7, 0x5854, 0xA7, 0xAB, 0xA3,
                                                0xA0, 0xAF,   0xEC, 0xBF};

bool Has(const std::array<uint32_t, 9>& ids, uint32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

unsigned OctetAt(std::string_view bytes, size_t i) { return static_cast<unsigned char>(bytes[i]); }

// A number whose first byte tells its length, which is at most `most`; 0 bytes: there is none.
struct EbmlNumber {
  size_t num_bytes = 0;
  uint64_t value = 0;  // with the bit that tells the length
};

std::optional<EbmlNumber> ReadEbmlNumber(std::string_view bytes, size_t most) {
  if (bytes.empty()) return std::nullopt;
  size_t size = 1;
  while (size <= most && (OctetAt(bytes, 0) & (0x100U >> size)) == 0) ++size;
  if (size > most) return EbmlNumber{};
  if (bytes.size() < size) return std::nullopt;
  return EbmlNumber{size, BigEndian(bytes.substr(0, size))};
}

Size MatroskaElement(std::string_view rest, bool /*is_first*/) {
  constexpr uint64_t kMostTracksBytes = 1 << 20;
  const std::optional<EbmlElement> element = ReadEbmlElement(rest);
  if (!element.has_value()) return std::nullopt;
  if (element->id == kMatroskaSegment || element->id == kMatroskaCluster) {
    return element->head_bytes;
  }
  const bool is_known = element->id == kEbmlFile || IsOfMatroskaSegment(element->id) ||
                        IsOfMatroskaCluster(element->id);
  if (!is_known || !element->body_bytes.has_value()) return kNoElement;
  const uint64_t size = element->head_bytes + *element->body_bytes;
  // The caller looks for the codec in it.
  const bool is_whole = rest.size() >= size || size > kMostTracksBytes;
  if (element->id == kMatroskaTracks && !is_whole) return std::nullopt;
  return size;
}

Size Mp4Box(std::string_view rest, bool /*is_first*/) {
  constexpr uint64_t kToTheEnd = 0, kIsLarge = 1;
  if (rest.size() < 8) return std::nullopt;
  if (!IsChunkId(rest.substr(4, 4))) return kNoElement;
  const ContainerMatch recording = MatchRecording(rest);
  if (recording.match == Match::kMaybe) return std::nullopt;
  if (recording.match == Match::kYes && recording.container != &kMp4) return kNoElement;
  uint64_t size = BigEndian(rest.substr(0, 4));
  if (size == kIsLarge) {
    if (rest.size() < 16) return std::nullopt;
    size = BigEndian(rest.substr(8, 8));
  }
  if (size == kToTheEnd) return kMostElementBytes;
  return size < 8 || size > kMostElementBytes ? kNoElement : size;
}

Size OggPage(std::string_view rest, bool /*is_first*/) {
  constexpr std::string_view kPage = "OggS";
  constexpr size_t kNumSegmentsAt = 26;
  if (rest.substr(0, 4) != kPage.substr(0, rest.size())) return kNoElement;
  if (rest.size() <= kNumSegmentsAt) return std::nullopt;
  const size_t head_bytes = kNumSegmentsAt + 1 + OctetAt(rest, kNumSegmentsAt);
  if (rest.size() < head_bytes) return std::nullopt;
  uint64_t size = head_bytes;
  for (const char segment : rest.substr(kNumSegmentsAt + 1, OctetAt(rest, kNumSegmentsAt))) {
    size += static_cast<unsigned char>(segment);
  }
  // With the beginning of a packet, which tells the codec. A page may be shorter.
  if (rest.size() < std::min<uint64_t>(size, head_bytes + 8)) return std::nullopt;
  return size;
}

// A frame, or a tag.
Size MpegElement(const Container& container, std::string_view rest) {
  const bool may_be_frame = rest[0] == '\xFF';
  const bool may_be_tag = rest[0] == 'I' || rest[0] == 'T' || rest[0] == 'A';
  if (may_be_frame && rest.size() < kMpegHeaderBytes) return std::nullopt;
  if (may_be_tag && rest.size() < kTagHeadBytes) return std::nullopt;
  if (!may_be_frame) return may_be_tag ? TagBytes(rest) : kNoElement;
  const MpegFrame frame = ReadMpegFrame(rest);
  return frame.container == &container ? frame.size : kNoElement;
}

Size Mp3Element(std::string_view rest, bool /*is_first*/) { return MpegElement(kMp3, rest); }
Size AdtsElement(std::string_view rest, bool /*is_first*/) { return MpegElement(kAdts, rest); }

// Of WAV, up to the samples: a recorder that was ended leaves a wrong size of these.
Size WavChunk(std::string_view rest, bool is_first) {
  constexpr size_t kHeadBytes = 12;
  if (is_first && rest[0] != 'R') return kNoElement;  // samples without their header
  if (!is_first && rest[0] == '\0') return 1;         // the padding of a chunk
  if (rest.size() < kHeadBytes) return std::nullopt;
  if (is_first) return rest.substr(8, 4) == "WAVE" ? kHeadBytes : kNoElement;
  const std::string_view id = rest.substr(0, kChunkIdBytes);
  const uint64_t size = LittleEndian(rest.substr(kChunkIdBytes, 4));
  if (!IsWavChunk(id) || id == "data") return kNoElement;
  return kChunkHeaderBytes + size;
}

// AIFF as a whole.
Size AiffForm(std::string_view rest, bool is_first) {
  if (rest.size() < kChunkHeaderBytes) return std::nullopt;
  const uint64_t size = BigEndian(rest.substr(4, 4));
  return is_first && size > 0 ? kChunkHeaderBytes + size : kNoElement;
}

Size CafChunk(std::string_view rest, bool is_first) {
  constexpr uint64_t kHeadBytes = 12;
  constexpr std::array<std::string_view, 17> kIds = {"desc", "data", "pakt", "kuki", "chan", "info",
                                                     "uuid", "strg", "mark", "regn", "free", "edct",
                                                     "inst", "midi", "ovvw", "peak", "umid"};
  if (is_first) return kChunkHeaderBytes;
  if (rest.size() < kHeadBytes) return std::nullopt;
  const uint64_t size = BigEndian(rest.substr(4, 8));
  const bool is_known = std::find(kIds.begin(), kIds.end(), rest.substr(0, 4)) != kIds.end();
  return is_known && size < kMostElementBytes ? kHeadBytes + size : kNoElement;
}

// A block of metadata. Frames, which do not say how long they are, begin with a byte of 0xFF.
Size FlacBlock(std::string_view rest, bool is_first) {
  constexpr unsigned kIsLast = 0x80, kMostTypes = 7;
  if (rest.size() < 4) return std::nullopt;
  if (is_first) return rest.substr(0, 4) == "fLaC" ? uint64_t{4} : kNoElement;
  if ((OctetAt(rest, 0) & ~kIsLast) >= kMostTypes) return kNoElement;
  return 4 + BigEndian(rest.substr(1, 3));
}

// A file of 1 GiB and more has several such chunks.
Size AviChunk(std::string_view rest, bool is_first) {
  if (rest.size() < 12) return std::nullopt;
  const std::string_view form = rest.substr(8, 4);
  if (rest.substr(0, 4) != "RIFF" || form != (is_first ? "AVI " : "AVIX")) return kNoElement;
  const uint64_t size = LittleEndian(rest.substr(4, 4));
  // A recorder that was ended leaves no size.
  return size == 0 ? kMostElementBytes : kChunkHeaderBytes + size + size % 2;
}

// The header, or a tag: with the size of the tag before the next one.
Size FlvTag(std::string_view rest, bool is_first) {
  constexpr uint64_t kTagHeadBytes = 11, kSizeBytes = 4;
  constexpr std::string_view kTypes = "\x08\x09\x12";  // audio, video, data
  if (rest.size() < 9) return std::nullopt;
  if (is_first) return BigEndian(rest.substr(5, 4)) + kSizeBytes;
  if (kTypes.find(rest[0]) == std::string_view::npos) return kNoElement;
  return kTagHeadBytes + BigEndian(rest.substr(1, 3)) + kSizeBytes;
}

// The header, the packets or an index.
Size AsfObject(std::string_view rest, bool is_first) {
  constexpr size_t kHeadBytes = 24, kSizeAt = 16;
  constexpr std::array<std::string_view, 5> kIds = {
      std::string_view("\x30\x26\xB2\x75\x8E\x66\xCF\x11", 8),
      std::string_view("\x36\x26\xB2\x75\x8E\x66\xCF\x11", 8),
      std::string_view("\x90\x08\x00\x33\xB1\xE5\xCF\x11", 8),
      std::string_view("\xD3\x29\xE2\xD6\xDA\x35\xD1\x11", 8),
      std::string_view("\xF8\x03\xB1\xFE\xAD\x12\x64\x4C", 8)};
  if (rest.size() < kHeadBytes) return std::nullopt;
  const auto* const found = std::find(kIds.begin(), kIds.end(), rest.substr(0, 8));
  if (found == kIds.end() || (found == kIds.begin()) != is_first) return kNoElement;
  const uint64_t size = LittleEndian(rest.substr(kSizeAt, 8));
  // That of the packets is not known while a recorder writes.
  return size < kHeadBytes || size > kMostElementBytes ? kMostElementBytes : size;
}

// A packet, with the time that is before it or the bytes behind it that correct errors.
Size TsPacket(std::string_view rest, bool /*is_first*/) {
  constexpr char kSync = '\x47';
  constexpr size_t kTimeBytes = 4, kPacketBytes = 188, kLongBytes = 204;
  if (rest.size() <= kTimeBytes) return std::nullopt;
  if (rest[0] != kSync) return rest[kTimeBytes] == kSync ? kTimeBytes + kPacketBytes : kNoElement;
  if (rest.size() <= kPacketBytes) return std::nullopt;
  if (rest[kPacketBytes] == kSync) return kPacketBytes;
  if (rest.size() <= kLongBytes) return std::nullopt;
  return rest[kLongBytes] == kSync ? kLongBytes : kPacketBytes;
}

struct Walk {
  const Container* container;
  Size (*read)(std::string_view rest, bool is_first);
  bool is_sure;
};
constexpr std::array<Walk, 13> kWalks = {{{&kMatroska, MatroskaElement, true},
                                          {&kMp4, Mp4Box, false},
                                          {&kOgg, OggPage, true},
                                          {&kMp3, Mp3Element, false},
                                          {&kAdts, AdtsElement, false},
                                          {&kWav, WavChunk, false},
                                          {&kAiff, AiffForm, false},
                                          {&kCaf, CafChunk, false},
                                          {&kFlac, FlacBlock, false},
                                          {&kAvi, AviChunk, false},
                                          {&kFlv, FlvTag, false},
                                          {&kAsf, AsfObject, false},
                                          {&kMpegTs, TsPacket, false}}};

const Walk* WalkOf(const Container& container) {
  const auto* const found =
      std::find_if(kWalks.begin(), kWalks.end(),
                   [&container](const Walk& walk) { return walk.container == &container; });
  return found == kWalks.end() ? nullptr : found;
}

}  // namespace

std::optional<uint64_t> ElementBytes(const Container& container, std::string_view rest,
                                     bool is_first) {
  const Walk* const walk = WalkOf(container);
  if (walk == nullptr) return kNoElement;
  if (rest.empty()) return std::nullopt;
  return walk->read(rest, is_first);
}

bool HasSureElements(const Container& container) {
  const Walk* const walk = WalkOf(container);
  return walk != nullptr && walk->is_sure;
}

bool IsOfMatroskaSegment(uint32_t id) { return Has(kOfSegment, id); }

bool IsOfMatroskaCluster(uint32_t id) { return Has(kOfCluster, id); }

std::optional<EbmlElement> ReadEbmlElement(std::string_view bytes) {
  constexpr size_t kMostIdBytes = 4, kMostSizeBytes = 8;
  const std::optional<EbmlNumber> id = ReadEbmlNumber(bytes, kMostIdBytes);
  if (!id.has_value()) return std::nullopt;
  if (id->num_bytes == 0) return EbmlElement{};
  const std::optional<EbmlNumber> size =
      ReadEbmlNumber(bytes.substr(id->num_bytes), kMostSizeBytes);
  if (!size.has_value()) return std::nullopt;
  if (size->num_bytes == 0) return EbmlElement{};
  EbmlElement element;
  element.id = static_cast<uint32_t>(id->value);
  element.head_bytes = id->num_bytes + size->num_bytes;
  const uint64_t mark = uint64_t{1} << 7 * size->num_bytes;
  if (size->value != 2 * mark - 1) element.body_bytes = size->value ^ mark;
  return element;
}

}  // namespace runnel
