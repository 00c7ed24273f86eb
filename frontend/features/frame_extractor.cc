#include "frontend/features/frame_extractor.h"

#include <algorithm>
#include <numeric>

namespace runnel {

int64_t FrameExtractor::NumFrames(int64_t num_samples, bool finished) const {
  const int64_t shift = geometry_.shift;
  const int64_t first = geometry_.first_sample;
  const int64_t counted = num_samples + geometry_.count_offset;
  const int64_t all = num_samples == 0 || counted < 0 ? 0 : counted / shift;
  if (finished) return all;

  // Frames whose windows end within the samples.
  const int64_t reflected = ReflectedSamples();
  const int64_t room = num_samples - geometry_.length - first;
  const int64_t complete = room < 0 || num_samples < reflected ? 0 : 1 + room / shift;
  return std::min(complete, all);
}

float FrameExtractor::Level(const float* features) const {
  return std::accumulate(features, features + dim_, 0.0F) / static_cast<float>(dim_);
}

int64_t FrameExtractor::SamplesForFrames(int64_t num_frames) const {
  if (num_frames <= 0) return 0;
  const int64_t counted = num_frames * geometry_.shift - geometry_.count_offset;
  const int64_t complete = FirstSampleOfFrame(num_frames - 1) + geometry_.length;
  return std::max({int64_t{1}, counted, complete, ReflectedSamples()});
}

// A reflection about sample 0 reaches sample -first, which may be one more than the window of
// frame 0 does.
int64_t FrameExtractor::ReflectedSamples() const {
  return geometry_.edge == AudioEdge::kReflect ? 1 - geometry_.first_sample : 0;
}

int64_t FrameExtractor::FirstSampleOfFrame(int64_t frame) const {
  return frame * geometry_.shift + geometry_.first_sample;
}

}  // namespace runnel
