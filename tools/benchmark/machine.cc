#include "tools/benchmark/machine.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <thread>

#include "encoder/cpu/kernels/matmul/weight_memory.h"
#include "tools/benchmark/baseline.h"
#include "tools/benchmark/durations.h"

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

constexpr int kMinPasses = 5;
constexpr int64_t kLineBytes = 64;

// Of the first word of every cache line: a line comes as a whole, and reading all of its words
// takes longer than that where it comes from a cache. Two sums, so that no addition waits for
// another.
uint64_t SumOf(const uint8_t* bytes, int64_t num_lines) {
  std::array<uint64_t, 2> sums = {};
  for (int64_t line = 0; line < num_lines; line += 2) {
    for (int64_t k = 0; k < 2; ++k) {
      uint64_t word = 0;
      std::memcpy(&word, bytes + (line + k) * kLineBytes, sizeof(word));
      sums[static_cast<size_t>(k)] += word;
    }
  }
  return sums[0] + sums[1];
}

}  // namespace

Machine DescribeMachine(const std::string& compute) {
  Machine machine;
  machine.compute = compute;
  machine.cpu = CpuInfo("model name");
  if (machine.cpu.empty()) machine.cpu = "unknown";
  machine.isa = VectorExtensions();
  machine.num_cores = std::thread::hardware_concurrency();
  if (const auto version = LoadedLibTorchVersion()) {
    machine.libraries.emplace_back("libtorch", *version);
  }
  machine.libraries.emplace_back("compiler", "GCC-compatible " __VERSION__);
  const char* limit = std::getenv("RUNNEL_INSTRUCTION_SET");
  if (limit != nullptr) machine.libraries.emplace_back("RUNNEL_INSTRUCTION_SET", limit);
  return machine;
}

double MemoryBandwidth(int64_t num_bytes, double min_ms) {
  const int64_t num_lines = (num_bytes + 2 * kLineBytes - 1) / (2 * kLineBytes) * 2;
  const int64_t size = num_lines * kLineBytes;
  const auto bytes = kernels::TakeWeightMemory(size);
  std::memset(bytes.get(), 1, static_cast<size_t>(size));  // untouched pages have no memory
  volatile uint64_t sum = 0;  // keeps the compiler from leaving out the reading
  double best_ms = std::numeric_limits<double>::infinity();
  double spent_ms = 0;
  for (int pass = 0; pass < kMinPasses || spent_ms < min_ms; ++pass) {
    const double ms = MillisecondsOf([&] { sum = SumOf(bytes.get(), num_lines); });
    best_ms = std::min(best_ms, ms);
    spent_ms += ms;
  }
  return static_cast<double>(size) / best_ms * 1e-6;
}

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  file >> total_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

}  // namespace runnel
