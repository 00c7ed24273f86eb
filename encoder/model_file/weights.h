// Hands a model's tensors to the layers: each is taken exactly once, by name, with its shape
// checked (the pattern of CTranslate2's layers).
#ifndef RUNNEL_ENCODER_MODEL_FILE_WEIGHTS_H_
#define RUNNEL_ENCODER_MODEL_FILE_WEIGHTS_H_

#include <map>
#include <set>
#include <string>

#include "encoder/model_file/tensor.h"

namespace runnel {

// Every method throws std::runtime_error that names the file, the tensor, what was found and what
// was expected. Used from one thread, while a model loads.
class Weights {
 public:
  // `tensors` by name, float32 or of a narrower type of floating-point numbers. `type`: kFloat32 or
  // kFloat64, that of the tensors that Take returns. `source` is the file, for messages.
  Weights(std::map<std::string, Tensor> tensors, DataType type, std::string source);
  virtual ~Weights() = default;

  // Of `shape`, every value finite. The memory is the caller's alone, so that a model need not be
  // in memory twice.
  // Virtual for tests and benchmarks that generate weights on request.
  virtual Tensor Take(const std::string& name, const Shape& shape);

  // A weight that the CPU backend multiplies as a matrix, of a linear layer or of a convolution
  // over all channels. Of a model file with packed weights it has a shape but no values, because
  // the backend has them.
  Tensor TakeMatrix(const std::string& name, const Shape& shape);
  const std::set<std::string>& matrices() const { return matrices_; }  // names taken as matrices

  // Takes all tensors whose names start with `prefix`, as they are in the file.
  std::map<std::string, Tensor> TakeAll(const std::string& prefix);

  // Throws for a tensor that has the right shape but not the right values.
  [[noreturn]] void Fail(const std::string& name, const std::string& problem) const;

  // Of the tensors that Take returns.
  DataType data_type() const { return type_; }

  // Fails when a tensor was never taken: the file holds something this code would ignore.
  void CheckAllTaken() const;

 private:
  std::map<std::string, Tensor> tensors_;  // those that are not taken yet
  std::set<std::string> taken_;
  std::set<std::string> matrices_;
  DataType type_;
  std::string source_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_WEIGHTS_H_
