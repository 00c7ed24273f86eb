// The baseline of bench_encoder.
#ifndef RUNNEL_TOOLS_REFERENCE_TORCHSCRIPT_BASELINE_H_
#define RUNNEL_TOOLS_REFERENCE_TORCHSCRIPT_BASELINE_H_

#include <memory>
#include <string>

#include "encoder/encoder_config.h"
#include "tools/benchmark/baseline.h"

namespace runnel {

// Throws std::runtime_error when LibTorch cannot load the file.
std::unique_ptr<const Baseline> MakeTorchScriptBaseline(const std::string& model_path,
                                                        const EncoderConfig& config);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_REFERENCE_TORCHSCRIPT_BASELINE_H_
