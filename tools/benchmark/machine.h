// The processor, the memory and the libraries that results depend on, without host names or paths.
#ifndef RUNNEL_TOOLS_BENCHMARK_MACHINE_H_
#define RUNNEL_TOOLS_BENCHMARK_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace runnel {

struct Machine {
  std::string cpu;               // "unknown" where Linux does not report it
  std::vector<std::string> isa;  // its vector extensions, as Linux names them
  unsigned num_cores = 0;
  std::string compute;  // backend and data types
  // Names and versions; LibTorch is one of them once it is loaded.
  std::vector<std::pair<std::string, std::string>> libraries;
  std::optional<double> memory_gb_per_second;  // MemoryBandwidth, if measured
};

// `compute`: Model::ComputeDescription.
Machine DescribeMachine(const std::string& compute);

// More than the share of the last cache that one thread gets on most machines.
constexpr int64_t kMemoryBytes = 256'000'000;

// 10^9 bytes per second of the fastest pass over so many bytes, at least 1, in the kind of memory
// that holds packed weights. Fewer bytes may come from a cache, which may keep more of them the
// more often they are read: passes go on for `min_ms`.
double MemoryBandwidth(int64_t num_bytes = kMemoryBytes, double min_ms = 0);

// Resident memory of this process, 0 where Linux does not report it.
int64_t ResidentBytes();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_MACHINE_H_
