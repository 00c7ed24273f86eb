// The rows of relative positions, by distance, read without a lock.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_FAST_DISTANCE_ROWS_H_
#define RUNNEL_ENCODER_FAST_DISTANCE_ROWS_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "encoder/kernels/attention_kernel.h"

namespace runnel {

// Remembers the widest range of distances that was asked for. A wider one is computed under a lock
// and reaches twice as far into the past, so that a left context that grows chunk by chunk costs
// few of them; the ones before stay valid, and in memory, as long as the object. May be used from
// several threads.
class DistanceRows {
 public:
  // rows(first, last): (first - last + 1, d) float32, for distances within +- max_distance.
  DistanceRows(std::function<at::Tensor(int64_t first, int64_t last)> rows, int64_t max_distance);

  // A table that covers first .. last, of those that exist. `kept` may come to hold its memory and
  // must outlive its use.
  kernels::DistanceTable Covering(int64_t first, int64_t last, at::Tensor* kept) const;

 private:
  struct Range {
    at::Tensor rows;
    int64_t first;
    int64_t last;
  };
  static kernels::DistanceTable TableOf(const Range& range);

  std::function<at::Tensor(int64_t first, int64_t last)> rows_;
  int64_t max_distance_;
  struct Memo {
    std::atomic<const Range*> widest{nullptr};
    std::mutex mutex;
    std::vector<std::unique_ptr<const Range>> ranges;
  };
  std::unique_ptr<Memo> memo_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_DISTANCE_ROWS_H_
