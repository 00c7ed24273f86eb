// Hands a model's tensors to the layers: each is taken exactly once, by name, with its shape
// checked (the pattern of CTranslate2's layers).
#ifndef RUNNEL_ENCODER_MODEL_FILE_WEIGHTS_H_
#define RUNNEL_ENCODER_MODEL_FILE_WEIGHTS_H_

#include <ATen/core/Tensor.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace runnel {

// Every method throws std::runtime_error that names the file, the tensor, what was found and what
// was expected. Used from one thread, while a model loads.
class Weights {
 public:
  // `tensors` by name, all float32. Take converts them to the type (float32 or float64) of
  // `options`. `source` is the file, for messages.
  Weights(std::map<std::string, at::Tensor> tensors, at::TensorOptions options, std::string source);

  // Contiguous, detached from autograd, of `shape`, every value finite. The memory is the caller's
  // alone, so that a model need not be in memory twice.
  // Virtual for tests and benchmarks that generate weights on request.
  virtual at::Tensor Take(const std::string& name, const std::vector<int64_t>& shape);

  // A weight that the CPU backend multiplies as a matrix, of a linear layer or of a convolution
  // over all channels. Of a model file with packed weights it has a shape but no values (device
  // meta), because the backend has them.
  at::Tensor TakeMatrix(const std::string& name, const std::vector<int64_t>& shape);
  const std::set<std::string>& matrices() const { return matrices_; }  // names taken as matrices

  // Takes all tensors whose names start with `prefix`, as they are in the file.
  std::map<std::string, at::Tensor> TakeAll(const std::string& prefix);

  // Throws for a tensor that has the right shape but not the right values.
  [[noreturn]] void Fail(const std::string& name, const std::string& problem) const;

  // Type of the tensors that Take returns.
  at::ScalarType dtype() const { return c10::typeMetaToScalarType(options_.dtype()); }

  // Fails when a tensor was never taken: the file holds something this code would ignore.
  void CheckAllTaken() const;

 private:
  std::map<std::string, at::Tensor> tensors_;  // those that are not taken yet
  std::set<std::string> taken_;
  std::set<std::string> matrices_;
  at::TensorOptions options_;
  std::string source_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_WEIGHTS_H_
