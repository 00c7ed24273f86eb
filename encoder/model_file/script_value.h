// What the pickle of a TorchScript archive holds.
#ifndef RUNNEL_ENCODER_MODEL_FILE_SCRIPT_VALUE_H_
#define RUNNEL_ENCODER_MODEL_FILE_SCRIPT_VALUE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "encoder/model_file/tensor.h"

namespace runnel {

struct ScriptDict;
struct ScriptList;
struct ScriptName;
struct ScriptObject;
struct ScriptQuantizedTensor;
struct ScriptStorage;
struct ScriptUnreadTensor;

// A value of a pickle. Cheap to copy: copies refer to the same string, list, dictionary or object.
struct ScriptValue {
  std::variant<std::monostate, bool, int64_t, double, std::string_view, Tensor*,
               ScriptQuantizedTensor*, ScriptUnreadTensor*, ScriptList*, ScriptDict*, ScriptObject*,
               ScriptStorage*, ScriptName*>
      value;

  // Null for a value of another kind.
  template <typename Kind>
  const Kind* As() const {
    if constexpr (std::is_arithmetic_v<Kind> || std::is_same_v<Kind, std::string_view>) {
      return std::get_if<Kind>(&value);
    } else {
      const auto* pointer = std::get_if<Kind*>(&value);
      return pointer == nullptr ? nullptr : *pointer;
    }
  }
};

// A list or a tuple.
struct ScriptList {
  std::vector<ScriptValue> items;
  bool is_tuple = false;
};

// A dictionary with keys of any kind, in the order of the file.
struct ScriptDict {
  std::vector<std::pair<ScriptValue, ScriptValue>> items;
  bool is_typed = false;       // a value of TorchScript's type Dict
  bool is_attributes = false;  // of an object, which has the items now
};

// The name of a class or a function.
struct ScriptName {
  std::string_view module;  // "__torch__.torch.nn.modules.linear"
  std::string_view name;    // "Linear"

  std::string Full() const { return std::string(module).append(".").append(name); }
};

// An instance of a class: a module has its parameters, buffers, attributes and submodules.
struct ScriptObject {
  const ScriptName* class_name;
  std::map<std::string_view, ScriptValue> attributes;
  bool is_built = false;
  // Its class' __setstate__ would make the attributes.
  bool is_opaque = false;
  const ScriptList* state = nullptr;  // what __setstate__ would take, if it is a list or a tuple
};

// The bytes of tensors, before a tensor is made of them.
struct ScriptStorage {
  std::optional<DataType> type;  // none: one that is not read
  const ScriptName* class_name;  // "torch.FloatStorage"
  std::string_view key;
  int64_t count;  // of values
};

// A tensor that the file holds as int8.
struct ScriptQuantizedTensor {
  Tensor values;  // dequantised, float32
};

// A tensor of a kind that is not read, which matters only if someone needs it.
struct ScriptUnreadTensor {
  const ScriptName* reason;  // the class of its storage or the function that would make it
};

// The values of a pickle. They may refer to each other in cycles, and lie here side by side, so
// that no depth of nesting matters when they are destroyed.
struct ScriptPickle {
  std::unique_ptr<const std::string> bytes;  // in which the strings are
  std::deque<Tensor> tensors;
  std::deque<ScriptQuantizedTensor> quantized_tensors;
  std::deque<ScriptUnreadTensor> unread_tensors;
  std::deque<ScriptList> lists;
  std::deque<ScriptDict> dicts;
  std::deque<ScriptObject> objects;
  std::deque<ScriptStorage> storages;
  std::deque<ScriptName> names;
  ScriptValue root;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_SCRIPT_VALUE_H_
