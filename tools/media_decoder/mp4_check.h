// Finds damage of MP4 and MOV files, and where one file is joined to another.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_MP4_CHECK_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_MP4_CHECK_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "tools/media_decoder/container_check.h"

namespace runnel::media_decoder {

// A file consists of boxes, each with a name of printable characters. Where an index names the
// place of every packet, the boxes behind the packets do not count: the packets are found without
// them.
class Mp4Check : public ContainerCheck {
 protected:
  std::optional<int64_t> ReadElement(std::string_view bytes) override;

 private:
  void ReadNumber(uint32_t number);

  bool is_fragmented_ = false;  // each fragment has the index of its packets
  bool has_packets_ = false;
  std::optional<uint32_t> next_number_;  // of a fragment
};

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_MP4_CHECK_H_
