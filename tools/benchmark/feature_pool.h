// Feature frames to feed streams with, for as long as anyone likes.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_BENCHMARK_FEATURE_POOL_H_
#define RUNNEL_TOOLS_BENCHMARK_FEATURE_POOL_H_

#include <cstdint>
#include <vector>

#include "runtime/model.h"

namespace runnel {

// The features of some seconds of speech-shaped noise, over and over. Const after construction.
class FeaturePool {
 public:
  // Frames can be asked for `max_frames` at a time.
  FeaturePool(const Model& model, int64_t max_frames);

  // `num_frames` rows of the model's input_dim, which ones depends on `position`, any number >= 0.
  const float* Frames(int64_t position, int64_t num_frames) const;

  int64_t dim() const { return dim_; }

 private:
  int64_t dim_;
  int64_t num_frames_;
  std::vector<float> frames_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_FEATURE_POOL_H_
