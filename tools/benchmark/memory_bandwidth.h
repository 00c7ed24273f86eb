// How fast one thread reads memory. It limits a step whose weights serve few rows.
#ifndef RUNNEL_TOOLS_BENCHMARK_MEMORY_BANDWIDTH_H_
#define RUNNEL_TOOLS_BENCHMARK_MEMORY_BANDWIDTH_H_

#include <cstdint>

namespace runnel {

// More than the share of the last cache that one thread gets on most machines.
constexpr int64_t kMemoryBytes = 256'000'000;

// 10^9 bytes per second of the fastest pass over so many bytes, at least 1, in the kind of memory
// that holds packed weights. Fewer bytes may come from a cache, which may keep more of them the
// more often they are read: passes go on for `min_ms`.
double MemoryBandwidth(int64_t num_bytes = kMemoryBytes, double min_ms = 0);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_MEMORY_BANDWIDTH_H_
