#include "tools/media_decoder/adts_check.h"

#include <algorithm>
#include <cstddef>

#include "frontend/media/container.h"
#include "frontend/media/tags.h"

namespace runnel::media_decoder {

std::optional<int64_t> AdtsCheck::ReadElement(std::string_view bytes) {
  constexpr size_t kMostGapBytes = 1 << 20;  // tags without a header are smaller
  if (bytes.size() < kMpegHeaderBytes) return std::nullopt;
  const MpegFrame frame = ReadMpegFrame(bytes);
  if (frame.size > 0 && (gap_.empty() || frame.kind == kind_)) {
    if (!AreTags(gap_)) AddDamage(gap_at_);
    gap_.clear();
    kind_ = frame.kind;
    return static_cast<int64_t>(frame.size);
  }
  if (gap_.empty()) {
    if (bytes.size() < kTagHeadBytes) return std::nullopt;
    if (const uint64_t tag_bytes = TagBytes(bytes)) return static_cast<int64_t>(tag_bytes);
  }
  if (kind_ == 0) {
    SetDamaged();
    return std::nullopt;
  }
  if (gap_.empty()) gap_at_ = element_at();
  const size_t next = std::min(bytes.find('\xFF', 1), bytes.size());
  if (gap_.size() < kMostGapBytes) gap_ += bytes.substr(0, next);
  return static_cast<int64_t>(next);
}

size_t AdtsCheck::FindElement(std::string_view bytes) {
  return std::min(bytes.find('\xFF'), bytes.size());
}

}  // namespace runnel::media_decoder
