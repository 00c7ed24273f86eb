// The int8 weights of PyTorch's quantised linear layers (torch.quantization.quantize_dynamic).
#ifndef RUNNEL_ENCODER_MODEL_FILE_PACKED_LINEAR_H_
#define RUNNEL_ENCODER_MODEL_FILE_PACKED_LINEAR_H_

#include <optional>

#include "encoder/model_file/script_value.h"
#include "encoder/model_file/tensor.h"

namespace runnel {

struct LinearTensors {
  Tensor weight;  // (outputs, inputs), float32
  Tensor bias;    // undefined: none
};

// Whether the object is the part of a quantised linear layer that holds its weights.
bool IsPackedLinear(const ScriptObject& object);

// The weights of such an object, dequantised; none for other objects. Throws std::runtime_error
// for weights that are not of int8, or damaged.
std::optional<LinearTensors> PackedLinear(const ScriptObject& object);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_PACKED_LINEAR_H_
