// Finds damage of WebM and Matroska files.
#ifndef RUNNEL_TOOLS_MEDIA_DECODER_MATROSKA_CHECK_H_
#define RUNNEL_TOOLS_MEDIA_DECODER_MATROSKA_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tools/media_decoder/container_check.h"

namespace runnel::media_decoder {

// The segment, and every cluster of packets in it, consist of elements that the format knows, and
// the elements of a cluster fill it. Times are not compared: the pauses of a recorder, and of a
// codec in silence, are gaps as those of lost packets are.
class MatroskaCheck : public ContainerCheck {
 protected:
  std::optional<int64_t> ReadElement(std::string_view bytes) override;
  size_t FindElement(std::string_view bytes) override;

 private:
  std::optional<int64_t> cluster_end_;  // of the present cluster, when it has a size
  bool in_cluster_ = false;
};

}  // namespace runnel::media_decoder

#endif  // RUNNEL_TOOLS_MEDIA_DECODER_MATROSKA_CHECK_H_
