#include "tools/media_decoder/container_check.h"

#include <algorithm>

#include "tools/media_decoder/adts_check.h"
#include "tools/media_decoder/matroska_check.h"
#include "tools/media_decoder/mp4_check.h"
#include "tools/media_decoder/ogg_check.h"

namespace runnel::media_decoder {

void ContainerCheck::Take(std::string_view bytes) {
  const int64_t begin = position_;
  position_ += static_cast<int64_t>(bytes.size());
  if (damage_at_.has_value() || element_at_ >= position_) return;
  bytes.remove_prefix(static_cast<size_t>(std::max<int64_t>(element_at_ - begin, 0)));
  unread_ += bytes;
  std::string_view rest = unread_;
  while (!rest.empty()) {
    const std::optional<int64_t> size = ReadElement(rest);
    if (damage_at_.has_value() || !size.has_value()) break;
    element_at_ += *size;
    rest.remove_prefix(std::min(static_cast<size_t>(*size), rest.size()));
  }
  unread_.erase(0, unread_.size() - rest.size());
}

size_t ContainerCheck::PassZeros(std::string_view bytes, size_t unit) {
  const size_t count = std::min(bytes.find_first_not_of('\0'), bytes.size()) / unit * unit;
  if (count == 0 && has_zeros_) SetDamaged();
  has_zeros_ = count > 0;
  return count;
}

void ContainerCheck::SkipUnneeded() { position_ = std::max(position_, element_at_); }

std::unique_ptr<ContainerCheck> MakeContainerCheck(const std::string& container) {
  if (container == "ogg") return std::make_unique<OggCheck>();
  if (container == "matroska") return std::make_unique<MatroskaCheck>();
  if (container == "aac") return std::make_unique<AdtsCheck>();
  if (container == "mov") return std::make_unique<Mp4Check>();
  return nullptr;
}

}  // namespace runnel::media_decoder
