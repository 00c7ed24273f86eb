#include "tools/media_decoder/skipped_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace runnel::media_decoder {
namespace {

constexpr size_t kMostNamed = 3;

}  // namespace

void SkippedParts::Add(int64_t at, int64_t bytes, double seconds) {
  if (num_parts_ > 0 && at <= last_end_) {
    const int64_t more = std::max<int64_t>(at + bytes - last_end_, 0);
    if (num_parts_ == static_cast<int64_t>(named_.size())) named_.back().bytes += more;
    num_bytes_ += more;
  } else {
    if (named_.size() < kMostNamed) named_.push_back({at, bytes, seconds});
    ++num_parts_;
    num_bytes_ += bytes;
  }
  last_end_ = std::max(last_end_, at + bytes);
}

std::string SkippedParts::Warning() const {
  std::string text = "is damaged: ";
  int64_t num_named_bytes = 0;
  for (const Part& part : named_) {
    char place[96];
    std::snprintf(place, sizeof(place), " at byte %lld (after %.2f s)",
                  static_cast<long long>(part.at), part.seconds);
    if (&part != &named_.front()) text += ", ";
    text += (part.bytes > 0 ? "skipped " + std::to_string(part.bytes) + " bytes"
                            : "packets are missing") +
            place;
    num_named_bytes += part.bytes;
  }
  const int64_t num_others = num_parts_ - static_cast<int64_t>(named_.size());
  if (num_others > 0) {
    text += " and " + std::to_string(num_bytes_ - num_named_bytes) + " bytes at " +
            std::to_string(num_others) + " other places";
  }
  return text;
}

}  // namespace runnel::media_decoder
