#include "encoder/model_file/weights.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "encoder/model_file/affixes.h"

namespace runnel {
namespace {

bool IsFloat(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kFloat16 || type == DataType::kBfloat16;
}

bool AllFinite(const float* values, int64_t count) {
  constexpr uint32_t kExponent = 0x7f800000;  // all ones: NaN or infinity
  uint32_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, values + i, sizeof(bits));
    found |= (bits & kExponent) == kExponent ? 1U : 0U;
  }
  return found == 0;
}

}  // namespace

Weights::Weights(std::map<std::string, Tensor> tensors, DataType type, std::string source)
    : tensors_(std::move(tensors)), type_(type), source_(std::move(source)) {}

Tensor Weights::TakeMatrix(const std::string& name, const Shape& shape) {
  matrices_.insert(name);
  return Take(name, shape);
}

Tensor Weights::Take(const std::string& name, const Shape& shape) {
  if (taken_.count(name) > 0) {
    throw std::logic_error(source_ + ": tensor " + name + " is taken twice");
  }
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw std::runtime_error(source_ + ": tensor " + name + " is missing, expected shape " +
                             TextOf(shape));
  }
  if (!IsFloat(found->second.type())) {
    throw std::runtime_error(source_ + ": tensor " + name + " is of type " +
                             NameOf(found->second.type()) +
                             ", expected float32, float16 or bfloat16");
  }
  if (found->second.shape() != shape) {
    throw std::runtime_error(source_ + ": tensor " + name + " has shape " +
                             TextOf(found->second.shape()) + ", expected " + TextOf(shape));
  }
  Tensor tensor = std::move(found->second);
  tensors_.erase(found);
  taken_.insert(name);
  if (!tensor.has_values()) {
    if (matrices_.count(name) == 0) Fail(name, "is packed, expected plain values");
    return tensor;
  }
  if (tensor.type() != DataType::kFloat32) tensor = Tensor(shape, Float32Values(tensor));
  if (!AllFinite(tensor.float32(), tensor.count())) {
    throw std::runtime_error(source_ + ": tensor " + name +
                             " holds NaN or infinity, expected finite values");
  }
  return type_ == DataType::kFloat64 ? Tensor(shape, Float64Values(tensor)) : tensor;
}

std::map<std::string, Tensor> Weights::TakeAll(const std::string& prefix) {
  std::map<std::string, Tensor> found;
  for (auto next = tensors_.begin(); next != tensors_.end();) {
    const auto tensor = next++;
    if (!StartsWith(tensor->first, prefix)) continue;
    taken_.insert(tensor->first);
    found.insert(tensors_.extract(tensor));
  }
  return found;
}

void Weights::Fail(const std::string& name, const std::string& problem) const {
  throw std::runtime_error(source_ + ": tensor " + name + " " + problem);
}

void Weights::CheckAllTaken() const {
  std::string left_over;
  for (const auto& [name, tensor] : tensors_) {
    left_over += (left_over.empty() ? "" : ", ") + name;
  }
  if (!left_over.empty()) {
    throw std::runtime_error(source_ +
                             ": tensors that the configuration does not call for: " + left_over);
  }
}

}  // namespace runnel
