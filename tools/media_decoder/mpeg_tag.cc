#include "tools/media_decoder/mpeg_tag.h"

#include <cstddef>

namespace runnel::media_decoder {

int64_t TagBytes(std::string_view bytes) {
  constexpr size_t kHeaderBytes = 10;
  constexpr int64_t kOldTagBytes = 128;
  if (bytes.substr(0, 3) == "TAG") return kOldTagBytes;
  if (bytes.substr(0, 8) == "APETAGEX" || bytes.substr(0, 11) == "LYRICSBEGIN") {
    return static_cast<int64_t>(bytes.size());
  }
  if (bytes.size() < kHeaderBytes || bytes.substr(0, 3) != "ID3") return 0;
  int64_t size = 0;
  for (const char byte : bytes.substr(6, 4)) size = size << 7 | (byte & 0x7F);
  return size + static_cast<int64_t>(kHeaderBytes);
}

}  // namespace runnel::media_decoder
