// An array of numbers with a shape, as model files hold it.
#ifndef RUNNEL_ENCODER_MODEL_FILE_TENSOR_H_
#define RUNNEL_ENCODER_MODEL_FILE_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "encoder/model_file/data_type.h"

namespace runnel {

using Shape = std::vector<int64_t>;

// "(3, 4)"
std::string TextOf(const Shape& shape);

// Row-major and contiguous. Immutable: copies share the values, in any thread.
class Tensor {
 public:
  // Undefined: no shape, no values.
  Tensor() = default;
  // `values`: as many as the shape says, whose memory the pointer keeps; null: a tensor of which
  // the type and the shape alone are known. Throws std::invalid_argument for a negative size, and
  // for more bytes than 63 bits count.
  Tensor(DataType type, Shape shape, std::shared_ptr<const void> values);
  // Throw std::invalid_argument unless there are as many values as the shape says.
  Tensor(Shape shape, std::vector<float> values);
  Tensor(Shape shape, std::vector<double> values);

  bool defined() const { return is_defined_; }
  bool has_values() const { return values_ != nullptr; }
  DataType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  int64_t dim() const { return static_cast<int64_t>(shape_.size()); }
  int64_t size(int64_t dim) const { return shape_.at(static_cast<size_t>(dim)); }
  int64_t count() const { return count_; }  // of values
  int64_t num_bytes() const { return count_ * BytesOf(type_); }

  const void* data() const { return values_.get(); }
  // The type must be the one asked for.
  const float* float32() const { return static_cast<const float*>(data()); }
  const double* float64() const { return static_cast<const double*>(data()); }

  // The same values in another shape of as many. Shares the memory.
  Tensor Reshaped(Shape shape) const;
  // Without values: type and shape alone.
  Tensor WithoutValues() const { return {type_, shape_, nullptr}; }

 private:
  bool is_defined_ = false;
  DataType type_ = DataType::kFloat32;
  Shape shape_;
  int64_t count_ = 0;
  std::shared_ptr<const void> values_;
};

// Memory for the values of a new tensor, aligned to a cache line and not initialised.
std::shared_ptr<void> NewMemory(int64_t num_bytes);

Tensor Zeros(DataType type, Shape shape);

// Of a tensor without values, all of the following return one without values. Those of one type in
// parts of another type are no arguments.

// The values first .. first + count - 1 of dimension `dim`. Of dimension 0 it shares the memory.
Tensor Narrowed(const Tensor& tensor, int64_t dim, int64_t first, int64_t count);
// One after the other along `dim`. At least one part; the other sizes are equal.
Tensor Concatenated(const std::vector<Tensor>& parts, int64_t dim = 0);
// With the last two dimensions exchanged.
Tensor Transposed(const Tensor& tensor);

// The values as float32 or float64, rounded where they have more digits; none for an undefined
// tensor. Of a type of floating-point numbers; throws std::invalid_argument for others.
std::vector<float> Float32Values(const Tensor& tensor);
std::vector<double> Float64Values(const Tensor& tensor);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_TENSOR_H_
