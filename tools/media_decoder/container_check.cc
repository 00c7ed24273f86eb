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
  if (element_at_ >= position_) return;
  bytes.remove_prefix(static_cast<size_t>(std::max<int64_t>(element_at_ - begin, 0)));
  unread_ += bytes;
  std::string_view rest = unread_;
  const auto pass = [&](int64_t size) {
    element_at_ += size;
    rest.remove_prefix(std::min(static_cast<size_t>(size), rest.size()));
  };
  while (!rest.empty()) {
    if (is_lost_) pass(static_cast<int64_t>(FindElement(rest)));
    if (rest.empty()) break;
    is_damaged_ = false;
    const std::optional<int64_t> size = ReadElement(rest);
    if (is_damaged_) {
      if (!is_lost_) damages_.push_back({element_at_, std::nullopt});
      is_lost_ = true;
      zeros_at_.reset();
      pass(1);
      continue;
    }
    if (!size.has_value()) break;
    if (is_lost_) damages_.back().end = element_at_;
    is_lost_ = false;
    pass(*size);
  }
  unread_.erase(0, unread_.size() - rest.size());
}

size_t ContainerCheck::PassZeros(std::string_view bytes, size_t unit) {
  const size_t count = std::min(bytes.find_first_not_of('\0'), bytes.size()) / unit * unit;
  if (count > 0) {
    zeros_at_ = zeros_at_.value_or(element_at_);
  } else if (zeros_at_.has_value()) {
    AddDamage(*zeros_at_);
    zeros_at_.reset();
  }
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
