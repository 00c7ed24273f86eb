#include "tools/media_decoder/mp4_check.h"

#include <algorithm>
#include <cstddef>

extern "C" {
#include <libavutil/intreadwrite.h>
}

namespace runnel::media_decoder {
namespace {

constexpr size_t kHeadBytes = 8;
constexpr size_t kLargeHeadBytes = 16;
constexpr size_t kFragmentHeadBytes = 24;  // with the box of its number
constexpr int64_t kMostBytes = int64_t{1} << 60;

// QuickTime's names may begin with the sign of copyright.
bool IsPrintable(char c) { return (c >= ' ' && c <= '~') || c == '\xA9'; }

}  // namespace

void Mp4Check::ReadNumber(uint32_t number) {
  if (next_number_.has_value() && number > *next_number_) SetJump();
  next_number_ = number + 1;
}

std::optional<int64_t> Mp4Check::ReadElement(std::string_view bytes) {
  constexpr uint64_t kToTheEnd = 0;
  constexpr uint64_t kIsLarge = 1;
  if (bytes.size() < kHeadBytes) return std::nullopt;
  // A recorder may write into a file that has its size before.
  const size_t num_zeros = is_fragmented_ ? PassZeros(bytes, kHeadBytes) : 0;
  if (num_zeros > 0) return static_cast<int64_t>(num_zeros);
  const std::string_view name = bytes.substr(4, 4);
  uint64_t size = AV_RB32(bytes.data());
  if (size == kIsLarge) {
    if (bytes.size() < kLargeHeadBytes) return std::nullopt;
    size = AV_RB64(bytes.data() + kHeadBytes);
  }
  if (size == kToTheEnd) size = kMostBytes;
  if (!std::all_of(name.begin(), name.end(), IsPrintable) || size < kHeadBytes ||
      size > uint64_t{kMostBytes}) {
    if (!is_fragmented_ && has_packets_) return kMostBytes;
    SetDamaged();
    return std::nullopt;
  }
  if (name == "ftyp") {
    SetFile();
    is_fragmented_ = has_packets_ = false;
    next_number_.reset();
  }
  if (name == "moof") {
    if (bytes.size() < kFragmentHeadBytes) return std::nullopt;
    if (bytes.substr(12, 4) == "mfhd") ReadNumber(AV_RB32(bytes.data() + 20));
  }
  is_fragmented_ = is_fragmented_ || name == "moof";
  has_packets_ = has_packets_ || name == "mdat";
  return static_cast<int64_t>(size);
}

}  // namespace runnel::media_decoder
