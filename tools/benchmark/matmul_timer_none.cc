// ProductTimer of a build without oneDNN: there is none.
#include "tools/benchmark/product_timer.h"

namespace runnel {

std::unique_ptr<ProductTimer> ProductTimer::Make(const std::string& /*precision*/,
                                                 const std::vector<Product>& /*products*/) {
  return nullptr;
}

std::optional<double> PeakGigaOperations(const std::string& /*precision*/, double /*seconds*/) {
  return std::nullopt;
}

std::string OneDnnVersion() { return ""; }

}  // namespace runnel
