// Distances between query frames and key frames.
#ifndef RUNNEL_ENCODER_POSITION_DISTANCES_H_
#define RUNNEL_ENCODER_POSITION_DISTANCES_H_

#include <algorithm>
#include <cstdint>

namespace runnel {

// The distances (query frame minus key frame) first, first - 1, ..., last.
struct Distances {
  int64_t first;
  int64_t last;

  int64_t size() const { return first - last + 1; }

  bool Contains(const Distances& other) const { return other.first <= first && other.last >= last; }

  // Each end that lies beyond `range` is moved to the nearest end of `range`.
  Distances ClampedTo(const Distances& range) const {
    return {std::clamp(first, range.last, range.first), std::clamp(last, range.last, range.first)};
  }
};

// The distances between `num_queries` consecutive queries and `num_keys` consecutive keys.
// `first_query`: index of the key whose frame is that of the first query.
inline Distances DistancesBetween(int64_t first_query, int64_t num_queries, int64_t num_keys) {
  return {first_query + num_queries - 1, first_query - (num_keys - 1)};
}

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_DISTANCES_H_
