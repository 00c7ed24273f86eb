// Finds damage of Ogg files.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_OGG_CHECK_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_OGG_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "tools/media_decoder/container_check.h"

namespace runnel::media_decoder {

// Every page has a larger number than the last one of its stream, and a checksum. Behind the last
// page of all streams anything may stand, such as a tag.
class OggCheck : public ContainerCheck {
 protected:
  std::optional<int64_t> ReadElement(std::string_view bytes) override;
  size_t FindElement(std::string_view bytes) override;

 private:
  // The number of its next page, by the serial number of a stream that has not ended.
  std::unordered_map<uint32_t, uint32_t> next_pages_;
};

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_OGG_CHECK_H_
