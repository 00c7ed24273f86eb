// Where an alignment emits one token.
#ifndef RUNNEL_RUNTIME_SEARCH_EMISSION_H_
#define RUNNEL_RUNTIME_SEARCH_EMISSION_H_

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime/search/log_probs.h"
#include "runtime/search/search.h"

namespace runnel {

struct Emission {
  int64_t first_frame = 0;
  int64_t last_frame = 0;
  float log_prob = 0;  // the highest over these frames

  TokenSpan SpanOf(int32_t token) const {
    return {token, first_frame, last_frame, Confidence(log_prob)};
  }

  // Whether it lies in [begin_frame, end_frame), at least with its first frame.
  bool IsWithin(int64_t begin_frame, int64_t end_frame) const {
    return first_frame >= begin_frame && first_frame < end_frame && last_frame >= first_frame &&
           std::isfinite(log_prob);
  }

  // For the snapshot of a stream (runtime/snapshot/state_fields.h).
  static constexpr size_t kSavedSize = 2 * sizeof(int64_t) + sizeof(float);
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Counter(self.first_frame);
    fields.Counter(self.last_frame);
    fields.Value(self.log_prob);
  }
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_EMISSION_H_
