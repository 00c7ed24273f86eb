#include "encoder/model_file/stored_tensors.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace runnel {
namespace {

// Copies of tensors that are not contiguous, or dequantised, may take this many times the bytes of
// the storages: a small file must not ask for any amount of memory.
constexpr int64_t kMostCopies = 4;

// The number of values; throws unless all of them are in the storage.
int64_t CheckedCount(const ScriptStorage& storage, int64_t offset, const Shape& shape,
                     const Shape& strides) {
  if (offset > storage.count) FailPickle("has a tensor outside its storage");
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  int64_t count = 1;
  int64_t last = offset;  // the value with the largest indices
  for (size_t i = 0; i < shape.size(); ++i) {
    if (count > kMostStoredValues / shape[i]) FailPickle("has a tensor outside its storage");
    count *= shape[i];
    if (shape[i] == 1) continue;
    if (strides[i] > storage.count / (shape[i] - 1)) FailPickle("has a tensor outside its storage");
    last += (shape[i] - 1) * strides[i];
  }
  if (last >= storage.count) FailPickle("has a tensor outside its storage");
  return count;
}

bool IsContiguous(const Shape& shape, const Shape& strides) {
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && strides[i] != stride) return false;
    stride *= shape[i];
  }
  return true;
}

// Writes values of the type Unit from dimension `dim` on; returns the place behind them. One call
// within the other per dimension.
template <typename Unit>
Unit* CopyStrided(const Shape& shape, const Shape& strides, size_t dim, const Unit* from,
                  Unit* to) {
  if (dim == shape.size()) {
    *to = *from;
    return to + 1;
  }
  const int64_t size = shape[dim];
  const int64_t stride = strides[dim];
  if (dim + 1 < shape.size()) {
    for (int64_t i = 0; i < size; ++i) {
      to = CopyStrided(shape, strides, dim + 1, from + i * stride, to);
    }
    return to;
  }
  for (int64_t i = 0; i < size; ++i) to[i] = from[i * stride];
  return to + size;
}

template <typename Unit>
void Copy(const Shape& shape, const Shape& strides, const std::byte* from, void* to) {
  CopyStrided(shape, strides, 0, reinterpret_cast<const Unit*>(from), static_cast<Unit*>(to));
}

std::shared_ptr<const void> ContiguousCopy(DataType type, const Shape& shape, const Shape& strides,
                                           const std::byte* from, int64_t num_bytes) {
  std::shared_ptr<void> copy = NewMemory(num_bytes);
  switch (BytesOf(type)) {
    case 1:
      Copy<uint8_t>(shape, strides, from, copy.get());
      break;
    case 2:
      Copy<uint16_t>(shape, strides, from, copy.get());
      break;
    case 4:
      Copy<uint32_t>(shape, strides, from, copy.get());
      break;
    default:
      Copy<uint64_t>(shape, strides, from, copy.get());
  }
  return copy;
}

}  // namespace

void FailPickle(const std::string& problem) { throw std::runtime_error("data.pkl " + problem); }

Tensor StoredTensors::Read(const ScriptStorage& storage, int64_t offset, const Shape& shape,
                           const Shape& strides) {
  const DataType type = storage.type.value();
  const int64_t count = CheckedCount(storage, offset, shape, strides);
  if (count == 0) return Zeros(type, shape);
  const std::shared_ptr<const void>& bytes = BytesOfStorage(storage);
  const auto* first = static_cast<const std::byte*>(bytes.get()) + offset * BytesOf(type);
  if (IsContiguous(shape, strides)) {
    return {type, shape, std::shared_ptr<const void>(bytes, first)};
  }
  const int64_t num_bytes = count * BytesOf(type);
  CountCopy(num_bytes);
  return {type, shape, ContiguousCopy(type, shape, strides, first, num_bytes)};
}

Tensor StoredTensors::Dequantize(const Tensor& integers, const Quantization& quantization) {
  CountCopy(integers.count() * BytesOf(DataType::kFloat32));
  const auto* values = static_cast<const int8_t*>(integers.data());
  std::vector<float> dequantized(static_cast<size_t>(integers.count()));
  const size_t values_of_scale =
      dequantized.size() / std::max<size_t>(quantization.scales.size(), 1);
  for (size_t i = 0; i < dequantized.size(); ++i) {
    const size_t row = i / values_of_scale;
    // As PyTorch, which rounds the scale to float32 first.
    dequantized[i] = static_cast<float>(quantization.scales[row]) *
                     static_cast<float>(values[i] - quantization.zero_points[row]);
  }
  return {integers.shape(), std::move(dequantized)};
}

void StoredTensors::CountCopy(int64_t num_bytes) {
  if (num_bytes > kMostCopies * read_bytes_ - copied_bytes_) {
    FailPickle("has tensors that repeat the values of their storages");
  }
  copied_bytes_ += num_bytes;
}

const std::shared_ptr<const void>& StoredTensors::BytesOfStorage(const ScriptStorage& storage) {
  const DataType type = storage.type.value();
  const auto [found, is_new] = read_.try_emplace(storage.key, Values{type, storage.count, nullptr});
  Values& values = found->second;
  if (values.type != type || values.count != storage.count) {
    FailPickle("has one storage of two types or sizes");
  }
  if (is_new) {
    const int64_t num_bytes = storage.count * BytesOf(type);
    values.bytes = read_storage_(storage.key, num_bytes);
    read_bytes_ += num_bytes;
  }
  return values.bytes;
}

}  // namespace runnel
