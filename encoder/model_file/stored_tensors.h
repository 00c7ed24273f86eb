// Makes the tensors of a pickle from the storages of its archive.
#ifndef RUNNEL_ENCODER_MODEL_FILE_STORED_TENSORS_H_
#define RUNNEL_ENCODER_MODEL_FILE_STORED_TENSORS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "encoder/model_file/script_value.h"
#include "encoder/model_file/tensor.h"

namespace runnel {

// The bytes of a storage in the file: as many as the pickle says, or an exception.
using ReadStorage =
    std::function<std::shared_ptr<const void>(std::string_view key, int64_t num_bytes)>;

// Throws std::runtime_error: "data.pkl " and what is wrong with it.
[[noreturn]] void FailPickle(const std::string& problem);

// Sizes in a file are at most this, so that the product of any two with the size of a value fits
// into 64 bits.
constexpr int64_t kMostStoredValues = int64_t{1} << 40;

// An int8 value q stands for scale * (q - zero_point).
struct Quantization {
  // One for the whole tensor, or one for each index of its first dimension.
  std::vector<double> scales;
  std::vector<int64_t> zero_points;
};

class StoredTensors {
 public:
  explicit StoredTensors(const ReadStorage& read_storage) : read_storage_(read_storage) {}

  // The tensor of these strides, made contiguous. It shares the memory of the storage where its
  // strides allow that. `storage` has a type. Throws where a value would lie outside the storage.
  Tensor Read(const ScriptStorage& storage, int64_t offset, const Shape& shape,
              const Shape& strides);

  // The float32 values of an int8 tensor, whose sizes the quantization fits.
  Tensor Dequantize(const Tensor& integers, const Quantization& quantization);

 private:
  struct Values {
    DataType type;
    int64_t count;
    std::shared_ptr<const void> bytes;
  };

  // Throws for more memory than a model needs beside the storages.
  void CountCopy(int64_t num_bytes);
  // Read once, however many tensors are in it.
  const std::shared_ptr<const void>& BytesOfStorage(const ScriptStorage& storage);

  const ReadStorage& read_storage_;
  std::map<std::string_view, Values> read_;  // by key
  int64_t read_bytes_ = 0;
  int64_t copied_bytes_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_STORED_TENSORS_H_
