#include "encoder/model_file/packed_linear.h"

#include <variant>

#include "encoder/model_file/stored_tensors.h"

namespace runnel {
namespace {

constexpr char kClass[] = "LinearPackedParams";
constexpr char kPacked[] = "_packed_params";

// (weight, bias, ...): the state of the object, or of the C++ object that it holds. Which of both
// depends on the version of PyTorch.
const ScriptList* StateOf(const ScriptObject& object) {
  if (object.state != nullptr) return object.state;
  const auto packed = object.attributes.find(kPacked);
  if (packed == object.attributes.end()) return nullptr;
  const auto* inner = packed->second.As<ScriptObject>();
  return inner == nullptr ? nullptr : inner->state;
}

}  // namespace

bool IsPackedLinear(const ScriptObject& object) { return object.class_name->name == kClass; }

std::optional<LinearTensors> PackedLinear(const ScriptObject& object) {
  if (!IsPackedLinear(object)) return std::nullopt;
  const ScriptList* state = StateOf(object);
  const auto* weight = state == nullptr || state->items.size() < 2
                           ? nullptr
                           : state->items[0].As<ScriptQuantizedTensor>();
  if (weight == nullptr || weight->values.dim() != 2) {
    FailPickle("has a quantised linear layer without an int8 weight of 2 dimensions");
  }
  const ScriptValue& bias = state->items[1];
  const auto* bias_values = bias.As<Tensor>();
  if (bias_values == nullptr && !std::holds_alternative<std::monostate>(bias.value)) {
    FailPickle("has a quantised linear layer whose bias is not a tensor");
  }
  return LinearTensors{weight->values, bias_values == nullptr ? Tensor() : *bias_values};
}

}  // namespace runnel
