// Finds damage of AAC files.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_ADTS_CHECK_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_ADTS_CHECK_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "tools/media_decoder/container_check.h"

namespace runnel::media_decoder {

// A file consists of frames and tags. Where whole frames were removed, it has no sign.
class AdtsCheck : public ContainerCheck {
 protected:
  std::optional<int64_t> ReadElement(std::string_view bytes) override;
};

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_ADTS_CHECK_H_
