#include "tools/server/samples/media_decoder.h"

#include <algorithm>
#include <utility>

namespace runnel::server {

MediaPart DecodePart(MediaDecoder* decoder, std::string_view rest) {
  MediaPart part;
  if (!decoder->has_more()) part.num_read = std::min(rest.size(), decoder->max_part_bytes());
  part.samples = decoder->Decode(rest.substr(0, part.num_read));
  part.has_more = decoder->has_more() || part.num_read < rest.size();
  return part;
}

bool AppendEnd(const MediaDecoder& decoder, std::vector<float> samples,
               std::vector<ClientRequest>* requests) {
  if (!samples.empty()) requests->emplace_back(AudioRequest{std::move(samples)});
  if (decoder.has_more()) {
    requests->emplace_back(MoreRequest{});
    return true;
  }
  requests->emplace_back(FinishRequest{});
  return false;
}

}  // namespace runnel::server
