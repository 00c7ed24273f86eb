// The functions of matmul_timer.h in a build without oneDNN.
#include "tools/benchmark/matmul_timer.h"

namespace runnel {

std::unique_ptr<MatmulTimer> MatmulTimer::Make(const std::string& /*precision*/,
                                               const std::vector<Matmul>& /*matmuls*/) {
  return nullptr;
}

std::optional<double> PeakGigaOperations(const std::string& /*precision*/, double /*seconds*/) {
  return std::nullopt;
}

std::string OneDnnVersion() { return ""; }

}  // namespace runnel
