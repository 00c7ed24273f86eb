#include "encoder/model_file/tensor.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace runnel {
namespace {

// Of values; throws where 63 bits do not count their bytes.
int64_t CountOf(const Shape& shape, int64_t bytes_per_value) {
  int64_t count = 1;
  bool is_empty = false;
  for (const int64_t size : shape) {
    if (size < 0) throw std::invalid_argument("a shape of " + TextOf(shape));
    is_empty = is_empty || size == 0;
  }
  if (is_empty) return 0;
  for (const int64_t size : shape) {
    if (count > std::numeric_limits<int64_t>::max() / bytes_per_value / size) {
      throw std::invalid_argument("a shape of " + TextOf(shape) + ", too large");
    }
    count *= size;
  }
  return count;
}

int64_t ProductOf(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, int64_t{1}, std::multiplies<>());
}

template <typename Value>
std::shared_ptr<const void> Owned(std::vector<Value> values) {
  const auto owner = std::make_shared<const std::vector<Value>>(std::move(values));
  return {owner, owner->data()};
}

void CheckCount(int64_t expected, size_t found, const Shape& shape) {
  if (static_cast<size_t>(expected) == found) return;
  throw std::invalid_argument(std::to_string(found) + " values for a shape of " + TextOf(shape));
}

// The values of a new tensor, to be written.
class NewValues {
 public:
  NewValues(DataType type, Shape shape) : type_(type), shape_(std::move(shape)) {
    const int64_t num_bytes = CountOf(shape_, BytesOf(type)) * BytesOf(type);
    num_bytes_ = static_cast<size_t>(num_bytes);
    memory_ = NewMemory(num_bytes);
  }

  size_t num_bytes() const { return num_bytes_; }
  std::byte* bytes() { return static_cast<std::byte*>(memory_.get()); }
  Tensor Finish() { return {type_, std::move(shape_), std::move(memory_)}; }

 private:
  DataType type_;
  Shape shape_;
  size_t num_bytes_ = 0;
  std::shared_ptr<void> memory_;
};

// The value of bits of IEEE 754's binary16.
float HalfValue(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fU;
  const uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24F;
    return sign == 0 ? value : -value;
  }
  const uint32_t widened =
      sign | (exponent == 0x1f ? 0x7f800000U : (exponent + 112) << 23) | fraction << 13;
  float value = 0;
  std::memcpy(&value, &widened, sizeof(value));
  return value;
}

float Bfloat16Value(uint16_t bits) {
  const uint32_t widened = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &widened, sizeof(value));
  return value;
}

template <typename To>
std::vector<To> ValuesOf(const Tensor& tensor) {
  if (!tensor.defined()) return {};
  if (!tensor.has_values()) throw std::invalid_argument("a tensor without values");
  std::vector<To> values(static_cast<size_t>(tensor.count()));
  const auto convert = [&](const auto* from, const auto& value_of) {
    std::transform(from, from + tensor.count(), values.begin(),
                   [&](auto value) { return static_cast<To>(value_of(value)); });
  };
  const auto same = [](auto value) { return value; };
  switch (tensor.type()) {
    case DataType::kFloat16:
      convert(static_cast<const uint16_t*>(tensor.data()), HalfValue);
      break;
    case DataType::kBfloat16:
      convert(static_cast<const uint16_t*>(tensor.data()), Bfloat16Value);
      break;
    case DataType::kFloat32:
      convert(tensor.float32(), same);
      break;
    case DataType::kFloat64:
      convert(tensor.float64(), same);
      break;
    default:
      throw std::invalid_argument(std::string("values of type ") + NameOf(tensor.type()));
  }
  return values;
}

}  // namespace

std::string TextOf(const Shape& shape) {
  std::string text = "(";
  for (const int64_t size : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
  return text + ")";
}

Tensor::Tensor(DataType type, Shape shape, std::shared_ptr<const void> values)
    : is_defined_(true),
      type_(type),
      shape_(std::move(shape)),
      count_(CountOf(shape_, BytesOf(type))),
      values_(std::move(values)) {}

Tensor::Tensor(Shape shape, std::vector<float> values)
    : Tensor(DataType::kFloat32, std::move(shape), nullptr) {
  CheckCount(count_, values.size(), shape_);
  values_ = Owned(std::move(values));
}

Tensor::Tensor(Shape shape, std::vector<double> values)
    : Tensor(DataType::kFloat64, std::move(shape), nullptr) {
  CheckCount(count_, values.size(), shape_);
  values_ = Owned(std::move(values));
}

Tensor Tensor::Reshaped(Shape shape) const {
  Tensor reshaped(type_, std::move(shape), values_);
  CheckCount(reshaped.count_, static_cast<size_t>(count_), reshaped.shape_);
  return reshaped;
}

std::shared_ptr<void> NewMemory(int64_t num_bytes) {
  constexpr std::align_val_t kCacheLine{64};
  const auto size = static_cast<size_t>(num_bytes);
  if (static_cast<uint64_t>(num_bytes) != size) throw std::bad_alloc();  // addresses of 32 bits
  void* memory = ::operator new(size, kCacheLine);
  return {memory, [](void* owned) { ::operator delete(owned, kCacheLine); }};
}

Tensor Zeros(DataType type, Shape shape) {
  NewValues values(type, std::move(shape));
  std::memset(values.bytes(), 0, values.num_bytes());
  return values.Finish();
}

Tensor Narrowed(const Tensor& tensor, int64_t dim, int64_t first, int64_t count) {
  Shape shape = tensor.shape();
  int64_t& size = shape.at(static_cast<size_t>(dim));
  if (first < 0 || count < 0 || first > size - count) {
    throw std::invalid_argument("a part outside a shape of " + TextOf(shape));
  }
  const int64_t whole = size;
  size = count;
  if (!tensor.has_values()) return {tensor.type(), std::move(shape), nullptr};
  const int64_t inner = ProductOf(shape.begin() + dim + 1, shape.end()) * BytesOf(tensor.type());
  const auto* from = static_cast<const std::byte*>(tensor.data()) + first * inner;
  if (dim == 0) {
    // An alias that keeps the memory of the whole.
    const auto owner = std::make_shared<const Tensor>(tensor);
    return {tensor.type(), std::move(shape), std::shared_ptr<const void>(owner, from)};
  }
  const int64_t outer = ProductOf(shape.begin(), shape.begin() + dim);
  NewValues values(tensor.type(), std::move(shape));
  std::byte* to = values.bytes();
  for (int64_t i = 0; i < outer; ++i, to += count * inner, from += whole * inner) {
    std::memcpy(to, from, static_cast<size_t>(count * inner));
  }
  return values.Finish();
}

Tensor Concatenated(const std::vector<Tensor>& parts, int64_t dim) {
  const auto place = static_cast<size_t>(dim);
  Shape shape = parts.at(0).shape();
  shape.at(place) = 0;
  int64_t size = 0;
  bool has_values = true;
  for (const Tensor& part : parts) {
    Shape others = part.shape();
    size += std::exchange(others.at(place), 0);
    if (others != shape || part.type() != parts[0].type()) {
      throw std::invalid_argument("parts of shape " + TextOf(part.shape()) + " and " +
                                  TextOf(parts[0].shape()) + ", or of two types");
    }
    has_values = has_values && part.has_values();
  }
  shape[place] = size;
  if (!has_values) return {parts[0].type(), std::move(shape), nullptr};
  const int64_t outer = ProductOf(shape.begin(), shape.begin() + dim);
  const int64_t inner = ProductOf(shape.begin() + dim + 1, shape.end()) * BytesOf(parts[0].type());
  NewValues values(parts[0].type(), std::move(shape));
  std::byte* to = values.bytes();
  for (int64_t i = 0; i < outer; ++i) {
    for (const Tensor& part : parts) {
      const int64_t bytes = part.size(dim) * inner;
      std::memcpy(to, static_cast<const std::byte*>(part.data()) + i * bytes,
                  static_cast<size_t>(bytes));
      to += bytes;
    }
  }
  return values.Finish();
}

Tensor Transposed(const Tensor& tensor) {
  if (tensor.dim() < 2) {
    throw std::invalid_argument("a shape of " + TextOf(tensor.shape()) + ", too few dimensions");
  }
  Shape shape = tensor.shape();
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  if (!tensor.has_values()) return {tensor.type(), std::move(shape), nullptr};
  const int64_t num_columns = shape[shape.size() - 2];
  const int64_t num_rows = shape[shape.size() - 1];
  const int64_t num_matrices = ProductOf(shape.begin(), shape.end() - 2);
  NewValues values(tensor.type(), std::move(shape));
  const auto transpose = [&](auto unit) {
    using Unit = decltype(unit);
    const auto* from = static_cast<const Unit*>(tensor.data());
    auto* to = reinterpret_cast<Unit*>(values.bytes());
    for (int64_t i = 0; i < num_matrices; ++i, from += num_rows * num_columns) {
      for (int64_t column = 0; column < num_columns; ++column) {
        for (int64_t row = 0; row < num_rows; ++row) *to++ = from[row * num_columns + column];
      }
    }
  };
  switch (BytesOf(tensor.type())) {
    case 1:
      transpose(uint8_t{});
      break;
    case 2:
      transpose(uint16_t{});
      break;
    case 4:
      transpose(uint32_t{});
      break;
    default:
      transpose(uint64_t{});
  }
  return values.Finish();
}

std::vector<float> Float32Values(const Tensor& tensor) { return ValuesOf<float>(tensor); }
std::vector<double> Float64Values(const Tensor& tensor) { return ValuesOf<double>(tensor); }

}  // namespace runnel
