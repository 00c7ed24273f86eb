#include "tools/benchmark/baseline.h"

#include "runtime/model/reference_component.h"

namespace runnel {

std::unique_ptr<const Baseline> LoadBaseline(const std::string& model_path,
                                             const EncoderConfig& config) {
  auto* load = ReferenceFunction<decltype(runnel_reference_baseline)>("runnel_reference_baseline",
                                                                      "the TorchScript baseline");
  return std::unique_ptr<const Baseline>(load(model_path, config));
}

std::optional<std::string> LoadedLibTorchVersion() {
  if (!IsReferenceLoaded()) return std::nullopt;
  auto* version = ReferenceFunction<decltype(runnel_reference_libtorch_version)>(
      "runnel_reference_libtorch_version", "the version of LibTorch");
  return version();
}

}  // namespace runnel
