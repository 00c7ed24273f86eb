#include "encoder/model_file/script_functions.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encoder/model_file/printable_name.h"

namespace runnel {
namespace {

constexpr std::pair<std::string_view, DataType> kStorageTypes[] = {
    {"FloatStorage", DataType::kFloat32}, {"DoubleStorage", DataType::kFloat64},
    {"HalfStorage", DataType::kFloat16},  {"BFloat16Storage", DataType::kBfloat16},
    {"LongStorage", DataType::kInt64},    {"IntStorage", DataType::kInt32},
    {"ShortStorage", DataType::kInt16},   {"CharStorage", DataType::kInt8},
    {"ByteStorage", DataType::kUint8},    {"BoolStorage", DataType::kBool},
    {"QInt8Storage", DataType::kInt8}};

// What PyTorch has besides: a model may hold such tensors, but none that Runnel needs.
constexpr std::string_view kOtherStorages[] = {
    "ComplexHalfStorage", "ComplexFloatStorage", "ComplexDoubleStorage", "QUInt8Storage",
    "QInt32Storage",      "QUInt4x2Storage",     "QUInt2x4Storage"};

constexpr std::string_view kTypedLists[] = {"build_intlist", "build_tensorlist", "build_doublelist",
                                            "build_boollist"};

constexpr size_t kMostDimensions = 8;

template <typename Names>
bool IsOneOf(std::string_view name, const Names& names) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

std::optional<DataType> TypeOfStorage(const ScriptName& class_name) {
  const auto* found =
      std::find_if(std::begin(kStorageTypes), std::end(kStorageTypes),
                   [&class_name](const auto& known) { return known.first == class_name.name; });
  if (class_name.module == "torch") {
    if (found != std::end(kStorageTypes)) return found->second;
    if (IsOneOf(class_name.name, kOtherStorages)) return std::nullopt;
  }
  FailPickle("has a storage of class " + PrintableName(class_name.Full()) +
             ", which PyTorch does not have");
}

// Sizes, strides or an offset.
int64_t SizeOf(const ScriptValue& value) {
  const auto* number = value.As<int64_t>();
  if (number == nullptr || *number < 0 || *number > kMostStoredValues) {
    FailPickle("has a tensor of a wrong size");
  }
  return *number;
}

Shape SizesOf(const ScriptValue& value) {
  const auto* tuple = value.As<ScriptList>();
  if (tuple == nullptr || tuple->items.size() > kMostDimensions) {
    FailPickle("has a tensor without sizes or with more than " + std::to_string(kMostDimensions));
  }
  Shape sizes;
  for (const ScriptValue& item : tuple->items) sizes.push_back(SizeOf(item));
  return sizes;
}

const ScriptStorage& StorageOf(const ScriptValue& value) {
  const auto* storage = value.As<ScriptStorage>();
  if (storage == nullptr) FailPickle("has a tensor without a storage");
  return *storage;
}

// `arguments`: storage, offset, sizes, strides and others. The storage has a type.
Tensor ReadTensor(const std::vector<ScriptValue>& arguments, StoredTensors* tensors) {
  const int64_t offset = SizeOf(arguments[1]);
  const Shape shape = SizesOf(arguments[2]);
  const Shape strides = SizesOf(arguments[3]);
  if (shape.size() != strides.size()) FailPickle("has a tensor of other sizes than strides");
  return tensors->Read(StorageOf(arguments[0]), offset, shape, strides);
}

// (storage, offset, sizes, strides, requires_grad, hooks)
ScriptValue MakeTensor(const std::vector<ScriptValue>& arguments, StoredTensors* tensors,
                       ScriptPickle* pickle) {
  const ScriptStorage& storage = StorageOf(arguments[0]);
  if (!storage.type.has_value()) {
    return {&pickle->unread_tensors.emplace_back(ScriptUnreadTensor{storage.class_name})};
  }
  return {&pickle->tensors.emplace_back(ReadTensor(arguments, tensors))};
}

// The values of a tensor of one dimension, or the one value of a number.
template <typename Number>
std::vector<Number> NumbersOf(const ScriptValue& value, DataType type) {
  if (const auto* number = value.As<Number>()) return {*number};
  const auto* tensor = value.As<Tensor>();
  if (tensor == nullptr || tensor->type() != type || tensor->dim() != 1) {
    FailPickle("has a quantised tensor without scales or zero points");
  }
  const auto* values = static_cast<const Number*>(tensor->data());
  return {values, values + tensor->count()};
}

void CheckQuantization(const Quantization& quantization, const Shape& shape) {
  const size_t count = quantization.scales.size();
  const bool by_row = !shape.empty() && count == static_cast<size_t>(shape[0]);
  if (quantization.zero_points.size() != count || (count != 1 && !by_row)) {
    FailPickle("has a quantised tensor with another number of scales than rows");
  }
  for (const double scale : quantization.scales) {
    if (!(scale > 0 && scale < std::numeric_limits<float>::max())) {
      FailPickle("has a quantised tensor with a scale that is not a positive number");
    }
  }
  for (const int64_t zero_point : quantization.zero_points) {
    if (zero_point < INT8_MIN || zero_point > INT8_MAX) {
      FailPickle("has a quantised tensor with a zero point that is not of 8 bits");
    }
  }
}

// (storage, offset, sizes, strides, scheme, requires_grad, hooks). The scheme is
// (per_tensor_affine, scale, zero point) or (per_channel_affine, scales, zero points, dimension).
ScriptValue MakeQuantizedTensor(const ScriptName& function,
                                const std::vector<ScriptValue>& arguments, StoredTensors* tensors,
                                ScriptPickle* pickle) {
  const ScriptStorage& storage = StorageOf(arguments[0]);
  const auto* scheme = arguments[4].As<ScriptList>();
  const auto* kind =
      scheme == nullptr || scheme->items.empty() ? nullptr : scheme->items[0].As<ScriptName>();
  if (kind == nullptr) FailPickle("has a quantised tensor without a scheme");
  const auto is = [&](std::string_view name, size_t num_parts) {
    return kind->module == "torch" && kind->name == name && scheme->items.size() == num_parts;
  };
  const bool by_tensor = is("per_tensor_affine", 3);
  const bool by_row = is("per_channel_affine", 4) && scheme->items[3].As<int64_t>() != nullptr &&
                      *scheme->items[3].As<int64_t>() == 0;
  if (storage.type != DataType::kInt8 || !(by_tensor || by_row)) {
    return {&pickle->unread_tensors.emplace_back(ScriptUnreadTensor{&function})};
  }
  const Tensor integers = ReadTensor(arguments, tensors);
  const Quantization quantization{NumbersOf<double>(scheme->items[1], DataType::kFloat64),
                                  NumbersOf<int64_t>(scheme->items[2], DataType::kInt64)};
  CheckQuantization(quantization, integers.shape());
  return {&pickle->quantized_tensors.emplace_back(
      ScriptQuantizedTensor{tensors->Dequantize(integers, quantization)})};
}

}  // namespace

bool IsOfTorchScript(const ScriptName& name) {
  constexpr std::string_view kCodeModule = "__torch__";
  return name.module.substr(0, kCodeModule.size()) == kCodeModule;
}

ScriptValue MakeStorage(const std::vector<ScriptValue>& parts, ScriptPickle* pickle) {
  if (parts.size() != 5) FailPickle("has a storage of " + std::to_string(parts.size()) + " parts");
  const auto* kind = parts[0].As<std::string_view>();
  const auto* class_name = parts[1].As<ScriptName>();
  const auto* key = parts[2].As<std::string_view>();
  if (kind == nullptr || *kind != "storage" || class_name == nullptr || key == nullptr) {
    FailPickle("has something else in the place of a storage");
  }
  // parts[3]: the device that the tensor was on
  return {&pickle->storages.emplace_back(
      ScriptStorage{TypeOfStorage(*class_name), class_name, *key, SizeOf(parts[4])})};
}

ScriptValue CallFunction(const ScriptName& function, const ScriptValue& argument,
                         StoredTensors* tensors, ScriptPickle* pickle) {
  if (IsOfTorchScript(function)) return argument;  // an enumerator, by its value
  const auto* list = argument.As<ScriptList>();
  if (list == nullptr || !list->is_tuple) FailPickle("calls a function without arguments");
  const std::vector<ScriptValue>& arguments = list->items;
  const auto is = [&](std::string_view module, std::string_view name, size_t num_arguments) {
    return function.module == module && function.name == name && arguments.size() == num_arguments;
  };
  if (is("torch._utils", "_rebuild_tensor_v2", 6)) return MakeTensor(arguments, tensors, pickle);
  if (is("torch._utils", "_rebuild_qtensor", 7)) {
    return MakeQuantizedTensor(function, arguments, tensors, pickle);
  }
  if (is("torch.jit._pickle", "restore_type_tag", 2)) {
    if (auto* const* dict = std::get_if<ScriptDict*>(&arguments[0].value)) {
      (*dict)->is_typed = true;
    }
    return arguments[0];
  }
  if (is("torch.jit._pickle", function.name, 1) && IsOneOf(function.name, kTypedLists)) {
    return arguments[0];
  }
  if (is("torch", "device", 1)) return arguments[0];
  if (is("collections", "OrderedDict", 0)) return {};  // the hooks of a tensor, which has none
  FailPickle("calls " + PrintableName(function.Full()) + " with " +
             std::to_string(arguments.size()) + " arguments, which is not supported");
}

}  // namespace runnel
