// The LibTorch backend: the encoder on LibTorch's operations, in float32 or float64. It is the
// reference that the CPU backend is tested against. One class per module.
#ifndef RUNNEL_ENCODER_LIBTORCH_BACKEND_H_
#define RUNNEL_ENCODER_LIBTORCH_BACKEND_H_

#include <memory>

#include "encoder/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/model_file/weights.h"

namespace runnel {

// Computes in the data type of the weights. Takes the tensors of the position scheme.
std::unique_ptr<const EncoderBackend> MakeLibTorchBackend(const EncoderConfig& config,
                                                          Weights* weights);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_LIBTORCH_BACKEND_H_
