// An endless supply of feature frames for the streams of a benchmark.
#ifndef RUNNEL_TOOLS_BENCHMARK_FEATURE_POOL_H_
#define RUNNEL_TOOLS_BENCHMARK_FEATURE_POOL_H_

#include <cstdint>
#include <vector>

#include "runtime/model.h"

namespace runnel {

// Repeats the features of some seconds of speech-shaped noise. Const after construction.
class FeaturePool {
 public:
  // `max_frames`: the most that one call of Frames returns.
  FeaturePool(const Model& model, int64_t max_frames);

  // (num_frames, dim()), which depend on `position` alone, any number >= 0.
  const float* Frames(int64_t position, int64_t num_frames) const;

  int64_t dim() const { return dim_; }

 private:
  int64_t dim_;
  int64_t num_frames_;
  std::vector<float> frames_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_FEATURE_POOL_H_
