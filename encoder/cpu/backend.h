// The CPU backend: the encoder in float32 on this project's kernels. This folder holds one class
// per module; kernels/ holds the vectorised operations, which know neither LibTorch nor the
// encoder.
#ifndef RUNNEL_ENCODER_CPU_BACKEND_H_
#define RUNNEL_ENCODER_CPU_BACKEND_H_

#include <memory>

#include "encoder/backend.h"
#include "encoder/cpu/options.h"
#include "encoder/cpu/packer.h"
#include "encoder/encoder_config.h"
#include "encoder/model_file/weights.h"

namespace runnel {

// Takes the tensors of the position scheme. `packer` makes the matrices of the modules; the backend
// keeps it, the modules do not. Throws std::invalid_argument for weights that are not float32.
std::unique_ptr<const EncoderBackend> MakeCpuBackend(
    const EncoderConfig& config, Weights* weights, const cpu::Options& options,
    std::shared_ptr<cpu::Packer> packer = std::make_shared<cpu::WeightPacker>());

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CPU_BACKEND_H_
