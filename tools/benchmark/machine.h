// What the results depend on besides Runnel: processor and libraries. No names of machines or
// paths. Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_BENCHMARK_MACHINE_H_
#define RUNNEL_TOOLS_BENCHMARK_MACHINE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace runnel {

struct Machine {
  std::string cpu;               // "unknown" where Linux does not tell
  std::vector<std::string> isa;  // its vector extensions, as Linux names them
  unsigned num_cores = 0;
  std::string compute;                                         // what of Runnel computes
  std::vector<std::pair<std::string, std::string>> libraries;  // names and versions
};

// compute: Model::ComputeDescription.
Machine DescribeMachine(const std::string& compute);

// Bytes of memory that this process holds, 0 where Linux does not tell.
int64_t ResidentBytes();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_MACHINE_H_
