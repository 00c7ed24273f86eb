// Hands a model's tensors to the layers: each taken exactly once, by name, with its shape checked.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools. Pattern of CTranslate2's layers.
#ifndef RUNNEL_ENCODER_WEIGHTS_H_
#define RUNNEL_ENCODER_WEIGHTS_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace runnel {

// Every method throws std::runtime_error naming the file, the tensor, what came and what was
// expected. Used from one thread, while a model loads.
class Weights {
 public:
  // `tensors` by name, all float32; Take converts to `options`, its type (float32 or float64) and
  // device. `source` is the file, for messages.
  Weights(std::map<std::string, at::Tensor> tensors, at::TensorOptions options, std::string source);

  // Contiguous, detached from autograd, of `shape`, every value finite.
  // Virtual for tests, whose weights are made up when asked for.
  virtual at::Tensor Take(const std::string& name, const std::vector<int64_t>& shape);

  // Those whose names start with `prefix`, as they are in the file; they count as taken.
  std::map<std::string, at::Tensor> TakeAll(const std::string& prefix);

  // Throws for a tensor that has the right shape but not the right values.
  [[noreturn]] void Fail(const std::string& name, const std::string& problem) const;

  // Type of the tensors that Take gives.
  at::ScalarType dtype() const { return c10::typeMetaToScalarType(options_.dtype()); }
  // Their type and device, for tensors made beside them.
  const at::TensorOptions& options() const { return options_; }

  // Fails when a tensor was never taken: the file holds something this code would ignore.
  void CheckAllTaken() const;

 private:
  std::map<std::string, at::Tensor> tensors_;
  std::set<std::string> taken_;
  at::TensorOptions options_;
  std::string source_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_WEIGHTS_H_
