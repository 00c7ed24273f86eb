#include "runtime/live/step_cost.h"

#include <algorithm>

namespace runnel {
namespace {

// As many frames of left context, or hypotheses of the beam, cost as much as the frame itself.
// Measured with 12 layers of dimension 256 (docs/design/runtime.md).
constexpr double kContextOfAFrame = 4096;
constexpr double kBeamOfAFrame = 256;
// A step takes some time however short it is.
constexpr double kFramesOfAStep = 2;
// The share of the sums that the next batch leaves.
constexpr double kKept = 0.9;

}  // namespace

int64_t ContextFrames(const StreamOptions& options) {
  if (options.right_context < 0) return 0;
  return options.right_context + (options.cached_windows ? 0 : options.left_context);
}

double StepSize(int64_t num_frames, const StreamOptions& options) {
  const auto frames = static_cast<double>(std::max<int64_t>(0, num_frames));
  const double computed = frames + static_cast<double>(ContextFrames(options));
  const auto left =
      static_cast<double>(options.left_context < 0 ? num_frames : options.left_context);
  const bool computes_left = options.right_context >= 0 && !options.cached_windows;
  const double context = computes_left ? computed : left;
  const double beam = options.search.method == SearchMethod::kGreedy
                          ? 0
                          : static_cast<double>(options.search.beam_size);
  return kFramesOfAStep + computed * (1 + context / kContextOfAFrame) +
         frames * beam / kBeamOfAFrame;
}

void ComputeRate::Add(double seconds, double size) {
  if (!(seconds > 0 && size > 0)) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  seconds_ = kKept * seconds_ + seconds;
  size_ = kKept * size_ + size;
}

double ComputeRate::SecondsFor(double size) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return size * seconds_ / size_;
}

}  // namespace runnel
