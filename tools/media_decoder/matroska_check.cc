#include "tools/media_decoder/matroska_check.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace runnel::media_decoder {
namespace {

constexpr uint32_t kFile = 0x1A45DFA3;  // EBML, the header of a file
constexpr uint32_t kSegment = 0x18538067;
constexpr uint32_t kCluster = 0x1F43B675;
// SeekHead, Info, Tracks, Cues, Chapters, Tags, Attachments, Void, CRC-32.
constexpr std::array<uint32_t, 9> kOfSegment = {
    0x114D9B74, 0x1549A966, 0x1654AE6B, 0x1C53BB6B, 0x1043A770, 0x1254C367, 0x1941A469, 0xEC, 0xBF};
// Timestamp, SilentTracks, Position, PrevSize, SimpleBlock, BlockGroup, EncryptedBlock, Void,
// CRC-32.
constexpr std::array<uint32_t, 9> kOfCluster = {0xE7, 0x5854, 0xA7, 0xAB, 0xA3,
                                                0xA0, 0xAF,   0xEC, 0xBF};

template <size_t N>
bool Has(const std::array<uint32_t, N>& ids, uint32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// A number whose first byte tells its length. 0 bytes: there are too few; more than `most`: none.
struct Number {
  size_t num_bytes = 0;
  uint64_t value = 0;       // with the bit that tells the length
  bool is_unknown = false;  // a size with all bits set
};

Number ReadNumber(std::string_view bytes, size_t most) {
  Number number;
  if (bytes.empty()) return number;
  const auto first = static_cast<unsigned char>(bytes[0]);
  size_t size = 1;
  while (size <= 8 && (first & (0x100U >> size)) == 0) ++size;
  if (size > most) return {size};
  if (bytes.size() < size) return number;
  for (const char byte : bytes.substr(0, size)) {
    number.value = number.value << 8 | static_cast<unsigned char>(byte);
  }
  number.num_bytes = size;
  number.is_unknown = number.value + 1 == uint64_t{1} << (7 * size + 1);
  return number;
}

}  // namespace

std::optional<int64_t> MatroskaCheck::ReadElement(std::string_view bytes) {
  constexpr size_t kMostIdBytes = 4;
  constexpr size_t kMostSizeBytes = 8;
  if (const size_t num_zeros = PassZeros(bytes)) return static_cast<int64_t>(num_zeros);
  if (cluster_end_ == element_at()) {
    in_cluster_ = false;
    cluster_end_.reset();
  }
  const Number id = ReadNumber(bytes, kMostIdBytes);
  const Number size = id.num_bytes == 0 || id.num_bytes > kMostIdBytes
                          ? Number{}
                          : ReadNumber(bytes.substr(id.num_bytes), kMostSizeBytes);
  if (id.num_bytes > kMostIdBytes || size.num_bytes > kMostSizeBytes) {
    SetDamaged();
    return std::nullopt;
  }
  if (size.num_bytes == 0) return std::nullopt;
  const auto head_bytes = static_cast<int64_t>(id.num_bytes + size.num_bytes);
  const auto body_bytes = static_cast<int64_t>(size.value ^ uint64_t{1} << 7 * size.num_bytes);
  const auto name = static_cast<uint32_t>(id.value);

  const int64_t most =
      cluster_end_.has_value() ? *cluster_end_ - element_at() - head_bytes : int64_t{1} << 60;
  if (in_cluster_ && Has(kOfCluster, name) && !size.is_unknown && body_bytes <= most) {
    return head_bytes + body_bytes;
  }
  // A cluster without a size ends with the next element of the segment.
  const bool may_be_here = !in_cluster_ || !cluster_end_.has_value();
  in_cluster_ = false;
  if (may_be_here && name == kFile && !size.is_unknown) {
    SetFile();
    return head_bytes + body_bytes;
  }
  if (may_be_here && name == kSegment) return head_bytes;
  if (may_be_here && name == kCluster) {
    in_cluster_ = true;
    if (!size.is_unknown) cluster_end_ = element_at() + head_bytes + body_bytes;
    return head_bytes;
  }
  if (may_be_here && Has(kOfSegment, name) && !size.is_unknown) return head_bytes + body_bytes;
  SetDamaged();
  return std::nullopt;
}

}  // namespace runnel::media_decoder
