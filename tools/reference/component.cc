// What the shared library of the reference exports: the functions that the headers below declare.
#include <torch/version.h>

#include <memory>
#include <thread>
#include <utility>

#include "encoder/libtorch/backend.h"
#include "encoder/libtorch/operation_guard.h"
#include "runtime/model/reference_component.h"
#include "tools/benchmark/baseline.h"
#include "tools/reference/torchscript_baseline.h"
#include "tools/reference/verification.h"
#include "tools/verification/verify_model.h"

namespace runnel {
namespace {

// LibTorch makes its threads, a static object, when a thread first sets their number. Static
// objects are destroyed last to first, so it is done before a Recognizer has its workers leave
// LibTorch at exit (runtime/live/exit_gate.h). In a thread of its own: the number belongs to the
// caller.
void MakeThreadPool() {
  static const bool is_made = [] {
    std::thread(libtorch::UseOneThread).join();
    return true;
  }();
  static_cast<void>(is_made);
}

}  // namespace
}  // namespace runnel

const runnel::EncoderBackend* runnel_reference_backend(const runnel::EncoderConfig& config,
                                                       runnel::Weights* weights) {
  runnel::MakeThreadPool();
  return runnel::MakeLibTorchBackend(config, weights).release();
}

const runnel::Baseline* runnel_reference_baseline(const std::string& model_path,
                                                  const runnel::EncoderConfig& config) {
  return runnel::MakeTorchScriptBaseline(model_path, config).release();
}

const char* runnel_reference_libtorch_version() { return TORCH_VERSION; }

void runnel_reference_verify(const std::string& model_path,
                             const runnel::ModelOptions& model_options,
                             const std::vector<float>& samples,
                             const runnel::VerificationOptions& options,
                             const runnel::OnSetting& on_setting,
                             runnel::VerificationReport* report) {
  std::shared_ptr<const runnel::Model> by_libtorch;
  if (options.compare_libtorch) {
    runnel::ModelOptions float64 = model_options;
    float64.precision = runnel::Precision::kFloat64;
    float64.backend = runnel::Backend::kLibTorch;
    float64.bfloat16_cache = false;
    float64.step_threads = 1;
    by_libtorch = runnel::Model::Load(model_path, float64);
  }
  runnel::Verification verification(runnel::Model::Load(model_path, model_options),
                                    std::move(by_libtorch), model_path, samples, options);
  verification.Run(on_setting);
  *report = verification.Report();
}
