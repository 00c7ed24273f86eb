#include "runtime/stream/silence_gate.h"

#include <algorithm>
#include <bitset>
#include <cmath>

namespace runnel {
namespace {

// Parts of the difference to the level of a frame by which the background follows it.
constexpr float kFall = 0.2F;
constexpr float kRise = 0.01F;
constexpr float kMostRise = 0.02F;  // per frame

}  // namespace

void SilenceGate::Close() {
  is_closed_ = true;
  recent_ = 0;
}

void SilenceGate::Hold(const float* frame, float level) {
  held_.insert(held_.end(), frame, frame + dim_);
  if (num_held() > num_lead_frames_) Take(1, nullptr);
  recent_ = (recent_ << 1U | (IsLoud(level) ? 1U : 0U)) & ((1U << kWindow) - 1);
  if (std::bitset<kWindow>(recent_).count() >= kOnsetFrames) is_closed_ = false;
}

void SilenceGate::Take(size_t count, float* frames) {
  const auto end = held_.begin() + static_cast<std::ptrdiff_t>(count * dim_);
  if (frames != nullptr) std::copy(held_.begin(), end, frames);
  held_.erase(held_.begin(), end);
}

bool SilenceGate::IsLoud(float level) {
  if (!has_background_) {
    has_background_ = true;
    background_ = level;
  }
  const float above = level - background_;
  background_ += above < 0 ? kFall * above : std::min(kRise * above, kMostRise);
  return above > kMargin;
}

std::string SilenceGate::Inconsistency() const {
  if (!std::isfinite(background_)) return "the level of the background is not finite";
  if (held_.size() % dim_ != 0 || num_held() > num_lead_frames_) {
    return "the number of feature values that wait for speech is " + std::to_string(held_.size());
  }
  const auto is_finite = [](float value) { return std::isfinite(value); };
  return std::all_of(held_.begin(), held_.end(), is_finite)
             ? ""
             : "feature frames that wait for speech are not finite";
}

}  // namespace runnel
