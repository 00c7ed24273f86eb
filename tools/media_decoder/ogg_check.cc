#include "tools/media_decoder/ogg_check.h"

#include <algorithm>
#include <cstddef>
#include <string>

extern "C" {
#include <libavutil/crc.h>
#include <libavutil/intreadwrite.h>
}

namespace runnel::media_decoder {
namespace {

constexpr std::string_view kPage = "OggS";
constexpr size_t kFlagsAt = 5;
constexpr size_t kSerialAt = 14;
constexpr size_t kNumberAt = 18;
constexpr size_t kChecksumAt = 22;
constexpr size_t kNumSegmentsAt = 26;
constexpr size_t kSegmentsAt = 27;
constexpr int kIsFirst = 2;
constexpr int kIsLast = 4;

uint32_t ChecksumOf(std::string_view page) {
  std::string bytes(page);
  AV_WL32(bytes.data() + kChecksumAt, 0);
  return av_bswap32(av_crc(av_crc_get_table(AV_CRC_32_IEEE), 0,
                           reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

}  // namespace

std::optional<int64_t> OggCheck::ReadElement(std::string_view bytes) {
  const std::string_view begin = bytes.substr(0, kPage.size());
  if (begin != kPage.substr(0, begin.size())) {
    if (next_pages_.empty() && element_at() > 0) {
      const size_t next = std::min(bytes.find(kPage[0], 1), bytes.size());
      return static_cast<int64_t>(next);
    }
    const size_t num_zeros = element_at() > 0 ? PassZeros(bytes) : 0;
    if (num_zeros > 0) return static_cast<int64_t>(num_zeros);
    SetDamaged();
    return std::nullopt;
  }
  PassZeros(bytes);
  if (bytes.size() < kSegmentsAt) return std::nullopt;
  const size_t num_segments = static_cast<unsigned char>(bytes[kNumSegmentsAt]);
  if (bytes.size() < kSegmentsAt + num_segments) return std::nullopt;
  size_t size = kSegmentsAt + num_segments;
  for (const char segment : bytes.substr(kSegmentsAt, num_segments)) {
    size += static_cast<unsigned char>(segment);
  }
  if (bytes.size() < size) return std::nullopt;

  const auto flags = static_cast<unsigned char>(bytes[kFlagsAt]);
  const uint32_t serial = AV_RL32(bytes.data() + kSerialAt);
  const uint32_t number = AV_RL32(bytes.data() + kNumberAt);
  const auto expected = next_pages_.find(serial);
  const bool is_known = (flags & kIsFirst) == 0 && expected != next_pages_.end();
  const int64_t num_lost = is_known ? int64_t{number} - expected->second : 0;
  if (num_lost < 0 || ChecksumOf(bytes.substr(0, size)) != AV_RL32(bytes.data() + kChecksumAt)) {
    SetDamaged();
    return std::nullopt;
  }
  AddLostPages(std::max<int64_t>(num_lost, 0));
  if ((flags & kIsFirst) != 0) SetFile();
  next_pages_[serial] = number + 1;
  if ((flags & kIsLast) != 0) next_pages_.erase(serial);
  return static_cast<int64_t>(size);
}

size_t OggCheck::FindElement(std::string_view bytes) {
  return std::min(bytes.find(kPage[0]), bytes.size());
}

}  // namespace runnel::media_decoder
