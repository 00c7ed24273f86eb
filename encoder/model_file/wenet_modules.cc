#include "encoder/model_file/wenet_modules.h"

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "encoder/model_file/printable_name.h"

namespace runnel::wenet {

void Refuse(const std::string& what) { throw std::runtime_error("is a WeNet export " + what); }

std::string ClassName(const Module& module) { return PrintableName(module.ClassName()); }

bool HasModule(const Module& module, const std::string& name) {
  return module.Child(name).has_value();
}

Module Child(const Module& module, const std::string& name) {
  const std::optional<Module> child = module.Child(name);
  if (!child.has_value()) {
    Refuse("whose " + ClassName(module) + " has no " + name + ", which is not supported");
  }
  return *child;
}

double Epsilon(const Module& norm) {
  if (ClassName(norm) != "LayerNorm" && ClassName(norm) != "BatchNorm1d") {
    Refuse("with a norm of class " + ClassName(norm) + ", expected LayerNorm or BatchNorm1d");
  }
  const auto epsilon = norm.Get<double>("eps");
  if (!epsilon.has_value()) Refuse("whose " + ClassName(norm) + " has no eps");
  return *epsilon;
}

std::string ActivationName(const Module& activation) {
  const std::string name = ClassName(activation);
  if (name == "SiLU" || name == "Swish") return "swish";
  if (name == "ReLU") return "relu";
  if (name == "GELU") return "gelu";
  Refuse("with the activation " + name + ", expected SiLU, Swish, ReLU or GELU");
}

int64_t Size(const Tensors& tensors, const std::string& name, int64_t num_dims, int64_t dim) {
  const auto found = tensors.find(name);
  if (found == tensors.end()) Refuse("without " + name + ", which every WeNet export has");
  if (found->second.dim() != num_dims) {
    Refuse("whose " + name + " has " + std::to_string(found->second.dim()) +
           " dimensions, expected " + std::to_string(num_dims));
  }
  return found->second.size(dim);
}

Tensor Sum(const Tensor& a, const Tensor& b) {
  std::vector<float> sum = Float32Values(a);
  const std::vector<float> others = Float32Values(b);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += others[i];
  return {a.shape(), std::move(sum)};
}

}  // namespace runnel::wenet
