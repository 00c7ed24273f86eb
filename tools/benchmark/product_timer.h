// What the CPU does at best, by oneDNN: products of a precision at full speed, and those of a
// model. Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_BENCHMARK_PRODUCT_TIMER_H_
#define RUNNEL_TOOLS_BENCHMARK_PRODUCT_TIMER_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/benchmark/products.h"

namespace runnel {

// Times products whose weights were packed beforehand, as oneDNN likes them, on the calling thread.
// Without oneDNN at build time, or for a precision that the CPU lacks, there is no such timer.
class ProductTimer {
 public:
  // precision: "float32"; "bfloat16" (float32 sums); "int8" (unsigned by signed, 32-bit sums).
  // Every product has a weight of its own, so that they leave the cache as a model's do.
  static std::unique_ptr<ProductTimer> Make(const std::string& precision,
                                            const std::vector<Product>& products);
  virtual ~ProductTimer() = default;

  // Runs all products once, in order; milliseconds of each part.
  virtual std::array<double, kNumProductParts> Run() = 0;

 protected:
  ProductTimer() = default;
};

// 10^9 operations per second of the fastest of some products whose weights stay in cache, on the
// calling thread. None where ProductTimer::Make gives none.
std::optional<double> PeakGigaOperations(const std::string& precision, double seconds);

// "2.6.3"; "" without oneDNN.
std::string OneDnnVersion();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_PRODUCT_TIMER_H_
