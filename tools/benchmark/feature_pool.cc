#include "tools/benchmark/feature_pool.h"

#include <algorithm>
#include <stdexcept>

#include "frontend/feature_stream.h"
#include "frontend/features/frame_extractor.h"
#include "runtime/model/model_parts.h"
#include "tools/cli/speech_noise.h"

namespace runnel {
namespace {

constexpr double kMinSeconds = 40;
constexpr uint64_t kSeed = 1;

}  // namespace

FeaturePool::FeaturePool(const Model& model, int64_t max_frames) {
  const double frames_per_second =
      model.sample_rate_hz() / static_cast<double>(model.parts().frame_extractor->frame_shift());
  const double seconds =
      std::max(kMinSeconds, 1 + 2 * static_cast<double>(max_frames) / frames_per_second);
  const std::vector<float> samples = SpeechShapedNoise(seconds, model.sample_rate_hz(), kSeed);
  FeatureStream stream(model.parts().frame_extractor, model.parts().config.features.sample_scale);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  dim_ = stream.dim();
  num_frames_ = stream.NumFramesReady();
  frames_.resize(static_cast<size_t>(num_frames_ * dim_));
  stream.PopFrames(static_cast<size_t>(num_frames_), frames_.data());
}

const float* FeaturePool::Frames(int64_t position, int64_t num_frames) const {
  if (num_frames > num_frames_) {
    throw std::logic_error("more frames requested from the feature pool than its max_frames");
  }
  return frames_.data() + (position % (num_frames_ - num_frames + 1)) * dim_;
}

}  // namespace runnel
