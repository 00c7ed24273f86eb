#include "tools/media_decoder/matroska_check.h"

#include <cstddef>

#include "frontend/media/elements.h"

namespace runnel::media_decoder {

std::optional<int64_t> MatroskaCheck::ReadElement(std::string_view bytes) {
  if (const size_t num_zeros = PassZeros(bytes)) return static_cast<int64_t>(num_zeros);
  if (cluster_end_ == element_at()) {
    in_cluster_ = false;
    cluster_end_.reset();
  }
  const std::optional<EbmlElement> element = ReadEbmlElement(bytes);
  if (!element.has_value()) return std::nullopt;
  const uint32_t name = element->id;
  const auto head_bytes = static_cast<int64_t>(element->head_bytes);
  const bool has_size = element->body_bytes.has_value();
  const auto body_bytes = static_cast<int64_t>(element->body_bytes.value_or(0));

  const int64_t most =
      cluster_end_.has_value() ? *cluster_end_ - element_at() - head_bytes : int64_t{1} << 60;
  if (in_cluster_ && IsOfMatroskaCluster(name) && has_size && body_bytes <= most) {
    return head_bytes + body_bytes;
  }
  // A cluster without a size ends with the next element of the segment.
  const bool may_be_here = !in_cluster_ || !cluster_end_.has_value();
  in_cluster_ = false;
  if (may_be_here && name == kEbmlFile && has_size) {
    SetFile();
    return head_bytes + body_bytes;
  }
  if (may_be_here && name == kMatroskaSegment) return head_bytes;
  if (may_be_here && name == kMatroskaCluster) {
    in_cluster_ = true;
    if (has_size) cluster_end_ = element_at() + head_bytes + body_bytes;
    return head_bytes;
  }
  if (may_be_here && IsOfMatroskaSegment(name) && has_size) return head_bytes + body_bytes;
  SetDamaged();
  return std::nullopt;
}

// A cluster, or another file. FFmpeg goes on there, too.
size_t MatroskaCheck::FindElement(std::string_view bytes) {
  in_cluster_ = false;
  cluster_end_.reset();
  const auto begins = [&bytes](size_t at, std::string_view id) {
    const std::string_view rest = bytes.substr(at, id.size());
    return rest == id.substr(0, rest.size());
  };
  for (size_t at = 0; at < bytes.size(); ++at) {
    if (begins(at, "\x1F\x43\xB6\x75") || begins(at, "\x1A\x45\xDF\xA3")) return at;
  }
  return bytes.size();
}

}  // namespace runnel::media_decoder
