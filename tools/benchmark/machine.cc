#include "tools/benchmark/machine.h"

#include <torch/version.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

namespace runnel {
namespace {

// "model name : AMD EPYC" -> "AMD EPYC" of the first line that starts with `field`.
std::string CpuInfo(const std::string& field) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (colon != line.npos && line.compare(0, field.size(), field) == 0) {
      return line.substr(colon + 2);
    }
  }
  return "";
}

std::vector<std::string> VectorExtensions() {
  constexpr std::array<const char*, 9> kKnown = {"avx2",        "fma",      "avx512f",
                                                 "avx512bw",    "avx_vnni", "avx512_vnni",
                                                 "avx512_bf16", "amx_bf16", "amx_int8"};
  std::istringstream words(CpuInfo("flags"));
  std::set<std::string> flags;
  for (std::string word; words >> word;) flags.insert(word);
  std::vector<std::string> found;
  for (const char* name : kKnown) {
    if (flags.count(name) > 0) found.emplace_back(name);
  }
  return found;
}

}  // namespace

Machine DescribeMachine(const std::string& compute) {
  Machine machine;
  machine.compute = compute;
  machine.cpu = CpuInfo("model name");
  if (machine.cpu.empty()) machine.cpu = "unknown";
  machine.isa = VectorExtensions();
  machine.num_cores = std::thread::hardware_concurrency();
  machine.libraries.emplace_back("libtorch", TORCH_VERSION);
  machine.libraries.emplace_back("compiler", "GCC-compatible " __VERSION__);
  const char* limit = std::getenv("RUNNEL_INSTRUCTION_SET");
  if (limit != nullptr) machine.libraries.emplace_back("RUNNEL_INSTRUCTION_SET", limit);
  return machine;
}

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

}  // namespace runnel
