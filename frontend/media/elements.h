// The parts of which a container consists, as far as each says where it ends.
#ifndef RUNNEL_FRONTEND_MEDIA_ELEMENTS_H_
#define RUNNEL_FRONTEND_MEDIA_ELEMENTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "frontend/media/container.h"

namespace runnel {

// The bytes from the element that `rest` begins with to the next one, which may be more than there
// are: a chunk, a box, a page, a frame, a tag between frames. The elements of a Matroska segment
// and of a cluster follow their heads. 0: no element of the container begins here, or the header
// leaves its end open. No value: more bytes tell. `is_first`: these are the first bytes of the
// recording.
std::optional<uint64_t> ElementBytes(const Container& container, std::string_view rest,
                                     bool is_first);

// Whether elements may go on behind bytes that are none: other bytes do not look like their heads.
bool HasSureElements(const Container& container);

// An element of EBML: of Matroska and WebM.
struct EbmlElement {
  uint32_t id = 0;  // 0: there is none
  uint64_t head_bytes = 0;
  std::optional<uint64_t> body_bytes;  // no value: up to the next element of a higher level
};

constexpr uint32_t kEbmlFile = 0x1A45DFA3;  // the header of a file
constexpr uint32_t kMatroskaSegment = 0x18538067;
constexpr uint32_t kMatroskaTracks = 0x1654AE6B;
constexpr uint32_t kMatroskaCluster = 0x1F43B675;
// Whether the id is one of the elements of a segment, or of a cluster.
bool IsOfMatroskaSegment(uint32_t id);
bool IsOfMatroskaCluster(uint32_t id);

// No value: more bytes tell.
std::optional<EbmlElement> ReadEbmlElement(std::string_view bytes);

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_MEDIA_ELEMENTS_H_
