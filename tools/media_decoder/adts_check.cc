#include "tools/media_decoder/adts_check.h"

#include <cstddef>

#include "frontend/media/container.h"
#include "tools/media_decoder/mpeg_tag.h"

namespace runnel::media_decoder {

std::optional<int64_t> AdtsCheck::ReadElement(std::string_view bytes) {
  constexpr size_t kMostHeadBytes = 11;  // of a tag
  if (bytes.size() < kMostHeadBytes) return std::nullopt;
  if (const size_t frame_bytes = MpegFrameBytes(bytes)) return static_cast<int64_t>(frame_bytes);
  if (const int64_t tag_bytes = TagBytes(bytes)) return tag_bytes;
  SetDamaged();
  return std::nullopt;
}

}  // namespace runnel::media_decoder
