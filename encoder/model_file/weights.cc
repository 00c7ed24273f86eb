#include "encoder/model_file/weights.h"

#include <ATen/ops/isfinite.h>
#include <ATen/ops/sum.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "encoder/model_file/affixes.h"

namespace runnel {
namespace {

std::string ShapeText(at::IntArrayRef shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + ")";
}

// The sum of finite values is finite, unless they are so many and so large that it overflows, and
// reads a large tensor once.
bool AllFinite(const at::Tensor& tensor) {
  return std::isfinite(tensor.sum().item<double>()) || at::isfinite(tensor).all().item<bool>();
}

}  // namespace

Weights::Weights(std::map<std::string, at::Tensor> tensors, at::TensorOptions options,
                 std::string source)
    : tensors_(std::move(tensors)), options_(options), source_(std::move(source)) {}

at::Tensor Weights::TakeMatrix(const std::string& name, const std::vector<int64_t>& shape) {
  matrices_.insert(name);
  return Take(name, shape);
}

at::Tensor Weights::Take(const std::string& name, const std::vector<int64_t>& shape) {
  if (taken_.count(name) > 0) {
    throw std::logic_error(source_ + ": tensor " + name + " is taken twice");
  }
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    throw std::runtime_error(source_ + ": tensor " + name + " is missing, expected shape " +
                             ShapeText(shape));
  }
  at::Tensor tensor = found->second.detach();
  if (tensor.scalar_type() != at::kFloat) {
    throw std::runtime_error(source_ + ": tensor " + name + " is of type " +
                             c10::toString(tensor.scalar_type()) + ", expected Float");
  }
  if (tensor.sizes() != at::IntArrayRef(shape)) {
    throw std::runtime_error(source_ + ": tensor " + name + " has shape " +
                             ShapeText(tensor.sizes()) + ", expected " + ShapeText(shape));
  }
  tensors_.erase(found);
  taken_.insert(name);
  if (tensor.is_meta()) {
    if (matrices_.count(name) == 0) Fail(name, "is packed, expected plain values");
    return tensor;
  }
  if (!AllFinite(tensor)) {
    throw std::runtime_error(source_ + ": tensor " + name +
                             " holds NaN or infinity, expected finite values");
  }
  return tensor.to(options_).contiguous();
}

std::map<std::string, at::Tensor> Weights::TakeAll(const std::string& prefix) {
  std::map<std::string, at::Tensor> found;
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
