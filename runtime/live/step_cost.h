// The computing time that a step of a stream is expected to take, for turns between accounts.
#ifndef RUNNEL_RUNTIME_LIVE_STEP_COST_H_
#define RUNNEL_RUNTIME_LIVE_STEP_COST_H_

#include <cstdint>
#include <mutex>

#include "runtime/stream.h"

namespace runnel {

// Encoder frames that a step computes beside those of the chunk: of the contexts of a window.
int64_t ContextFrames(const StreamOptions& options);

// The size of a step that gives `num_frames` encoder frames, at least 1. A frame counts as one,
// plus what attention to the left context and the beam of its search add. A window computes the
// frames of its contexts too. An estimate: an account is charged what is measured, and the sizes
// only divide a batch among its streams.
double StepSize(int64_t num_frames, const StreamOptions& options);

// The time per size, learned from batches. Thread-safe.
class ComputeRate {
 public:
  // A batch of this size took this time.
  void Add(double seconds, double size);
  // What a step is expected to take, in seconds, above 0.
  double SecondsFor(double size) const;

 private:
  mutable std::mutex mutex_;
  // Sums in which older batches count less and less. They begin with a guess that counts nothing.
  double seconds_ = 1e-9;
  double size_ = 1e-6;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_STEP_COST_H_
