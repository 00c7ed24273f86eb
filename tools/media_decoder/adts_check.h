// Finds damage of AAC files.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_ADTS_CHECK_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_ADTS_CHECK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/media_decoder/container_check.h"

namespace runnel::media_decoder {

// A file consists of frames and tags. Other bytes are damage when another frame like the last one
// follows them: behind the recording anything may stand. Where whole frames were removed, it has no
// sign.
class AdtsCheck : public ContainerCheck {
 protected:
  std::optional<int64_t> ReadElement(std::string_view bytes) override;
  size_t FindElement(std::string_view bytes) override;

 private:
  unsigned kind_ = 0;  // of the last frame; 0: there was none
  int64_t gap_at_ = 0;
  std::string gap_;  // what is neither a frame nor a tag with a header, behind it
};

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_ADTS_CHECK_H_
