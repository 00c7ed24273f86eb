#include "tools/server/samples/media_decoder.h"

#include <algorithm>

namespace runnel::server {

MediaPart DecodePart(MediaDecoder* decoder, std::string_view rest) {
  MediaPart part;
  if (!decoder->has_more()) part.num_read = std::min(rest.size(), decoder->max_part_bytes());
  part.samples = decoder->Decode(rest.substr(0, part.num_read));
  part.has_more = decoder->has_more() || part.num_read < rest.size();
  return part;
}

}  // namespace runnel::server
