// The processor and the libraries that results depend on, without host names or paths.
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
  std::string compute;                                         // backend and data types
  std::vector<std::pair<std::string, std::string>> libraries;  // names and versions
  std::optional<double> memory_gb_per_second;                  // MemoryBandwidth, if measured
};

// `compute`: Model::ComputeDescription.
Machine DescribeMachine(const std::string& compute);

// Resident memory of this process, 0 where Linux does not report it.
int64_t ResidentBytes();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_MACHINE_H_
