// Tensors: what they hold and share, and their operations against plain loops.
#include "encoder/model_file/tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/error_message.h"

namespace runnel {
namespace {

using testing::ErrorMessage;

constexpr int64_t kHuge = int64_t{1} << 62;

constexpr DataType kAllTypes[] = {DataType::kBool,    DataType::kUint8,    DataType::kInt8,
                                  DataType::kInt16,   DataType::kInt32,    DataType::kInt64,
                                  DataType::kFloat16, DataType::kBfloat16, DataType::kFloat32,
                                  DataType::kFloat64};

// A type of each size.
constexpr DataType kSizes[] = {DataType::kUint8, DataType::kInt16, DataType::kInt32,
                               DataType::kInt64};

template <class T>
Tensor OwningTensor(DataType type, const Shape& shape, std::vector<T> values) {
  const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
  return {type, shape, std::shared_ptr<const void>(owner, owner->data())};
}

// Every byte differs from its neighbours.
Tensor CountingTensor(DataType type, const Shape& shape) {
  const auto num_bytes = static_cast<size_t>(Tensor(type, shape, nullptr).num_bytes());
  std::vector<uint8_t> bytes(num_bytes + 1);  // of no values, too, there is an address
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 7 + i / 251);
  return OwningTensor(type, shape, std::move(bytes));
}

// The bytes of a value.
std::string BytesAt(const Tensor& tensor, const Shape& index) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset = offset * tensor.shape()[d] + index[d];
  const auto size = static_cast<size_t>(BytesOf(tensor.type()));
  return {static_cast<const char*>(tensor.data()) + static_cast<size_t>(offset) * size, size};
}

// Calls `visit` with the index of every value.
void VisitIndices(const Shape& shape, const std::function<void(const Shape&)>& visit) {
  const int64_t count = Tensor(DataType::kInt8, shape, nullptr).count();
  for (int64_t i = 0; i < count; ++i) {
    Shape index(shape.size());
    int64_t rest = i;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) index[d] = rest % shape[d];
    visit(index);
  }
}

// Sizes of 0 to 5.
Shape RandomShape(size_t num_dims, std::mt19937_64* random) {
  Shape shape(num_dims);
  for (int64_t& size : shape) size = static_cast<int64_t>((*random)() % 6);
  return shape;
}

int64_t Below(int64_t end, std::mt19937_64* random) {
  return static_cast<int64_t>((*random)() % static_cast<uint64_t>(end));
}

void ExpectSameTensor(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.type(), expected.type());
  ASSERT_EQ(found.shape(), expected.shape());
  ASSERT_EQ(std::memcmp(found.data(), expected.data(), static_cast<size_t>(found.num_bytes())), 0);
}

std::string ArgumentError(const std::function<void()>& action) {
  return ErrorMessage<std::invalid_argument>(action);
}

TEST(TensorTest, TypesHaveNamesAndSizes) {
  std::vector<std::string> found;
  for (const DataType type : kAllTypes) {
    found.push_back(NameOf(type) + std::string(" ") + std::to_string(BytesOf(type)));
  }
  EXPECT_EQ(found, (std::vector<std::string>{"bool 1", "uint8 1", "int8 1", "int16 2", "int32 4",
                                             "int64 8", "float16 2", "bfloat16 2", "float32 4",
                                             "float64 8"}));
}

TEST(TensorTest, ShapesHaveATextForMessages) {
  EXPECT_EQ(TextOf(Shape{}), "()");
  EXPECT_EQ(TextOf({3}), "(3)");
  EXPECT_EQ(TextOf({3, 0, 12}), "(3, 0, 12)");
}

TEST(TensorTest, IsUndefinedAtFirst) {
  const Tensor tensor;
  EXPECT_FALSE(tensor.defined());
  EXPECT_FALSE(tensor.has_values());
  EXPECT_EQ(tensor.count(), 0);
  EXPECT_TRUE(Float32Values(tensor).empty());
  EXPECT_TRUE(Float64Values(tensor).empty());
}

TEST(TensorTest, HoldsValuesOfAShape) {
  const Tensor tensor({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_TRUE(tensor.defined());
  EXPECT_TRUE(tensor.has_values());
  EXPECT_EQ(tensor.type(), DataType::kFloat32);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.dim(), 2);
  EXPECT_EQ(tensor.size(0), 2);
  EXPECT_EQ(tensor.size(1), 3);
  EXPECT_THROW(tensor.size(2), std::out_of_range);
  EXPECT_THROW(tensor.size(-1), std::out_of_range);
  EXPECT_EQ(tensor.count(), 6);
  EXPECT_EQ(tensor.num_bytes(), 24);
  EXPECT_EQ(tensor.float32()[5], 6);
  EXPECT_EQ(Float32Values(tensor), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(TensorTest, HoldsFloat64) {
  const Tensor tensor({2}, std::vector<double>{1.0 / 3, 2});
  EXPECT_EQ(tensor.type(), DataType::kFloat64);
  EXPECT_EQ(tensor.num_bytes(), 16);
  EXPECT_EQ(tensor.float64()[0], 1.0 / 3);
  EXPECT_EQ(Float64Values(tensor), (std::vector<double>{1.0 / 3, 2}));
}

TEST(TensorTest, HoldsOneValueWithoutDimensionsAndNoneWithASizeOfZero) {
  const Tensor scalar(Shape{}, std::vector<float>{7});
  EXPECT_EQ(scalar.dim(), 0);
  EXPECT_EQ(scalar.count(), 1);
  const Tensor empty({2, 0, 3}, std::vector<float>{});
  EXPECT_TRUE(empty.defined());
  EXPECT_EQ(empty.count(), 0);
  EXPECT_EQ(empty.num_bytes(), 0);
}

TEST(TensorTest, RefusesAnotherNumberOfValues) {
  EXPECT_EQ(ArgumentError([] {
              Tensor({2, 3}, std::vector<float>(5));
            }),
            "5 values for a shape of (2, 3)");
  EXPECT_EQ(ArgumentError([] { Tensor({2}, std::vector<double>(3)); }),
            "3 values for a shape of (2)");
  EXPECT_EQ(ArgumentError([] { Tensor(Shape{}, std::vector<float>{}); }),
            "0 values for a shape of ()");
}

TEST(TensorTest, RefusesShapesThatNoMemoryHolds) {
  EXPECT_EQ(ArgumentError([] { Tensor(DataType::kInt8, {2, -1}, nullptr); }), "a shape of (2, -1)");
  // Beside a size of zero, too.
  EXPECT_EQ(ArgumentError([] { Tensor(DataType::kInt8, {0, -1}, nullptr); }), "a shape of (0, -1)");
  EXPECT_EQ(ArgumentError([] {
              Tensor(DataType::kInt8, {kHuge, 2}, nullptr);
            }),
            "a shape of (4611686018427387904, 2), too large");
  EXPECT_EQ(ArgumentError([] { Tensor(DataType::kInt16, {kHuge}, nullptr); }),
            "a shape of (4611686018427387904), too large");
  EXPECT_EQ(
      ArgumentError([] {
        Zeros(DataType::kFloat64, {kHuge, kHuge, kHuge});
      }),
      "a shape of (4611686018427387904, 4611686018427387904, 4611686018427387904), too large");
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Tensor(DataType::kInt8, {most}, nullptr).num_bytes(), most);
  EXPECT_EQ(Tensor(DataType::kFloat64, {kHuge, kHuge, 0}, nullptr).count(), 0);
}

TEST(TensorTest, CopiesAndReshapedOnesShareTheMemory) {
  const Tensor tensor = CountingTensor(DataType::kInt16, {2, 6});
  const Tensor copy = tensor;  // NOLINT: a copy on purpose
  const Tensor reshaped = tensor.Reshaped({3, 1, 4});
  EXPECT_EQ(copy.data(), tensor.data());
  EXPECT_EQ(reshaped.data(), tensor.data());
  EXPECT_EQ(reshaped.type(), DataType::kInt16);
  EXPECT_EQ(reshaped.shape(), (Shape{3, 1, 4}));
  EXPECT_EQ(ArgumentError([&] { tensor.Reshaped({5, 2}); }), "12 values for a shape of (5, 2)");
  EXPECT_EQ(ArgumentError([&] { tensor.Reshaped({-3, -4}); }), "a shape of (-3, -4)");
}

TEST(TensorTest, MemoryLivesAsLongAsATensorOfIt) {
  auto owner = std::make_shared<const std::vector<float>>(12, 1.5F);
  const std::weak_ptr<const std::vector<float>> memory = owner;
  Tensor tensor(DataType::kFloat32, {4, 3}, std::shared_ptr<const void>(owner, owner->data()));
  owner.reset();
  Tensor part = Narrowed(tensor, 0, 1, 2);
  Tensor reshaped = tensor.Reshaped({12});
  tensor = Tensor();
  reshaped = Tensor();
  EXPECT_FALSE(memory.expired());
  EXPECT_EQ(part.float32()[5], 1.5F);
  part = Tensor();
  EXPECT_TRUE(memory.expired());
}

TEST(TensorTest, WithoutValuesTheShapeIsKnown) {
  const Tensor known = CountingTensor(DataType::kBfloat16, {2, 3});
  const Tensor tensor = known.WithoutValues();
  EXPECT_TRUE(tensor.defined());
  EXPECT_FALSE(tensor.has_values());
  EXPECT_EQ(tensor.type(), DataType::kBfloat16);
  EXPECT_EQ(tensor.num_bytes(), 12);
  const auto expect_shape = [](const Tensor& found, const Shape& shape) {
    EXPECT_FALSE(found.has_values());
    EXPECT_EQ(found.type(), DataType::kBfloat16);
    EXPECT_EQ(found.shape(), shape);
  };
  expect_shape(tensor.Reshaped({6}), {6});
  expect_shape(Narrowed(tensor, 0, 1, 1), {1, 3});
  expect_shape(Narrowed(tensor, 1, 0, 2), {2, 2});
  expect_shape(Transposed(tensor), {3, 2});
  expect_shape(Concatenated({tensor, tensor}), {4, 3});
  expect_shape(Concatenated({known, tensor}, 1), {2, 6});
  EXPECT_EQ(ArgumentError([&] { Float32Values(tensor); }), "a tensor without values");
  EXPECT_EQ(ArgumentError([&] { Float64Values(tensor); }), "a tensor without values");
  EXPECT_THROW(Narrowed(tensor, 1, 2, 2), std::invalid_argument);
  EXPECT_THROW(tensor.Reshaped({7}), std::invalid_argument);
}

TEST(TensorTest, ZerosAreAlignedMemoryOfTheirOwn) {
  for (const DataType type : kAllTypes) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 5}, Shape{64}}) {
      const Tensor tensor = Zeros(type, shape);
      EXPECT_EQ(tensor.type(), type);
      EXPECT_EQ(tensor.shape(), shape);
      ASSERT_TRUE(tensor.has_values());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0U);
      const auto* bytes = static_cast<const char*>(tensor.data());
      EXPECT_TRUE(std::all_of(bytes, bytes + tensor.num_bytes(), [](char b) { return b == 0; }));
      EXPECT_NE(Zeros(type, shape).data(), tensor.data());
    }
  }
}

TEST(TensorTest, NarrowedAgainstLoops) {
  std::mt19937_64 random(1);
  for (int run = 0; run < 400; ++run) {
    const Shape shape = RandomShape(1 + run % 4, &random);
    const Tensor tensor = CountingTensor(kSizes[random() % 4], shape);
    const int64_t dim = Below(tensor.dim(), &random);
    const int64_t first = Below(tensor.size(dim) + 1, &random);
    const int64_t count = Below(tensor.size(dim) - first + 1, &random);
    const Tensor part = Narrowed(tensor, dim, first, count);
    Shape expected = shape;
    expected[static_cast<size_t>(dim)] = count;
    ASSERT_EQ(part.shape(), expected);
    ASSERT_EQ(part.type(), tensor.type());
    VisitIndices(expected, [&](const Shape& index) {
      Shape source = index;
      source[static_cast<size_t>(dim)] += first;
      ASSERT_EQ(BytesAt(part, index), BytesAt(tensor, source));
    });
  }
}

TEST(TensorTest, NarrowedSharesRowsOnly) {
  const Tensor tensor = CountingTensor(DataType::kFloat32, {4, 3});
  EXPECT_EQ(Narrowed(tensor, 0, 2, 2).float32(), tensor.float32() + 6);
  const Tensor columns = Narrowed(tensor, 1, 0, 3);
  EXPECT_NE(columns.data(), tensor.data());
  ExpectSameTensor(columns, tensor);
}

TEST(TensorTest, NarrowedRefusesAPartOutside) {
  const Tensor tensor = CountingTensor(DataType::kInt8, {2, 3});
  const auto error = [&](int64_t dim, int64_t first, int64_t count) {
    return ArgumentError([&] { Narrowed(tensor, dim, first, count); });
  };
  const std::string expected = "a part outside a shape of (2, 3)";
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(error(0, 0, 3), expected);
  EXPECT_EQ(error(1, 2, 2), expected);
  EXPECT_EQ(error(1, 4, 0), expected);
  EXPECT_EQ(error(1, -1, 2), expected);
  EXPECT_EQ(error(1, 1, -1), expected);
  EXPECT_EQ(error(1, most, most), expected);
  EXPECT_THROW(Narrowed(tensor, 2, 0, 1), std::out_of_range);
  EXPECT_THROW(Narrowed(tensor, -1, 0, 1), std::out_of_range);
  EXPECT_THROW(Narrowed(Zeros(DataType::kInt8, {}), 0, 0, 1), std::out_of_range);
}

TEST(TensorTest, ConcatenatedPartsAreTheWhole) {
  std::mt19937_64 random(2);
  for (int run = 0; run < 400; ++run) {
    const Tensor whole = CountingTensor(kSizes[random() % 4], RandomShape(1 + run % 4, &random));
    const int64_t dim = Below(whole.dim(), &random);
    std::vector<Tensor> parts;
    int64_t first = 0;
    do {
      const int64_t count = Below(whole.size(dim) - first + 1, &random);
      parts.push_back(Narrowed(whole, dim, first, count));
      first += count;
    } while (first < whole.size(dim));
    ExpectSameTensor(Concatenated(parts, dim), whole);
  }
}

TEST(TensorTest, ConcatenatedRefusesOtherShapesAndTypes) {
  const Tensor tensor = CountingTensor(DataType::kInt16, {2, 3});
  const auto error = [&](const Tensor& other, int64_t dim) {
    return ArgumentError([&] { Concatenated({tensor, other}, dim); });
  };
  EXPECT_EQ(error(Zeros(DataType::kInt16, {2, 4}), 0),
            "parts of shape (2, 4) and (2, 3), or of two types");
  EXPECT_EQ(error(Zeros(DataType::kInt16, {3, 3}), 1),
            "parts of shape (3, 3) and (2, 3), or of two types");
  EXPECT_EQ(error(Zeros(DataType::kInt16, {2, 3, 1}), 0),
            "parts of shape (2, 3, 1) and (2, 3), or of two types");
  EXPECT_EQ(error(Zeros(DataType::kFloat16, {2, 3}), 0),
            "parts of shape (2, 3) and (2, 3), or of two types");
  EXPECT_THROW(Concatenated({}), std::out_of_range);
  EXPECT_THROW(Concatenated({tensor}, 2), std::out_of_range);
  EXPECT_THROW(Concatenated({tensor}, -1), std::out_of_range);
  EXPECT_THROW(Concatenated({tensor, Zeros(DataType::kInt16, {2})}, 1), std::out_of_range);
}

TEST(TensorTest, TransposedAgainstLoops) {
  std::mt19937_64 random(3);
  for (int run = 0; run < 400; ++run) {
    const Shape shape = RandomShape(2 + run % 3, &random);
    const Tensor tensor = CountingTensor(kSizes[random() % 4], shape);
    const Tensor transposed = Transposed(tensor);
    const auto exchanged = [](Shape values) {
      std::swap(values[values.size() - 1], values[values.size() - 2]);
      return values;
    };
    ASSERT_EQ(transposed.type(), tensor.type());
    ASSERT_EQ(transposed.shape(), exchanged(shape));
    VisitIndices(transposed.shape(), [&](const Shape& index) {
      ASSERT_EQ(BytesAt(transposed, index), BytesAt(tensor, exchanged(index)));
    });
    ExpectSameTensor(Transposed(transposed), tensor);
  }
}

TEST(TensorTest, TransposedNeedsTwoDimensions) {
  EXPECT_EQ(ArgumentError([] { Transposed(Zeros(DataType::kInt8, {3})); }),
            "a shape of (3), too few dimensions");
  EXPECT_EQ(ArgumentError([] { Transposed(Zeros(DataType::kInt8, {})); }),
            "a shape of (), too few dimensions");
}

// The value of a number of 16 bits, a sign, an exponent and a fraction, by IEEE 754's definition.
double ValueOfBits(uint16_t bits, int fraction_bits, int bias) {
  const int exponent_bits = 15 - fraction_bits;
  const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  double value = 0;
  if (exponent == (1 << exponent_bits) - 1) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    value = std::ldexp(fraction, 1 - bias - fraction_bits);
  } else {
    value = std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// All numbers of the type: subnormal ones, infinities and NaN among them. float32 holds them all.
void ExpectValuesOfAllBits(DataType type, int fraction_bits, int bias) {
  std::vector<uint16_t> bits(1 << 16);
  std::iota(bits.begin(), bits.end(), uint16_t{0});
  const Tensor tensor = OwningTensor(type, {1 << 8, 1 << 8}, bits);
  const std::vector<float> found = Float32Values(tensor);
  const std::vector<double> found_64 = Float64Values(tensor);
  ASSERT_EQ(found.size(), bits.size());
  ASSERT_EQ(found_64.size(), bits.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    const double expected = ValueOfBits(bits[i], fraction_bits, bias);
    ASSERT_EQ(std::signbit(found[i]), (bits[i] & 0x8000) != 0) << i;
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found[i]) && std::isnan(found_64[i])) << i;
    } else {
      ASSERT_EQ(static_cast<double>(found[i]), expected) << i;
      ASSERT_EQ(found_64[i], expected) << i;
    }
  }
}

TEST(TensorTest, Float16Values) { ExpectValuesOfAllBits(DataType::kFloat16, 10, 15); }
TEST(TensorTest, Bfloat16Values) { ExpectValuesOfAllBits(DataType::kBfloat16, 7, 127); }

TEST(TensorTest, SomeHalfPrecisionValuesByHand) {
  EXPECT_EQ(Float32Values(OwningTensor<uint16_t>(DataType::kFloat16, {5},
                                                 {0x3c00, 0xc000, 0x7bff, 0x0001, 0x03ff})),
            (std::vector<float>{1, -2, 65504, 0x1p-24F, 0x3ffp-24F}));
  EXPECT_EQ(Float32Values(
                OwningTensor<uint16_t>(DataType::kBfloat16, {4}, {0x3f80, 0xc000, 0x7f7f, 0x0001})),
            (std::vector<float>{1, -2, 0x1.fep127F, 0x1p-133F}));
}

TEST(TensorTest, Float64ValuesAreRoundedToFloat32) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor tensor({4}, std::vector<double>{1.0 / 3, 1 + 0x1p-24, 1 + 0x1.8p-24, -infinity});
  EXPECT_EQ(Float32Values(tensor), (std::vector<float>{1.0F / 3, 1, 1 + 0x1p-23F,
                                                       -std::numeric_limits<float>::infinity()}));
  // And float32 is float64 without a change.
  EXPECT_EQ(Float64Values(Tensor({1}, std::vector<float>{0.1F})),
            std::vector<double>{static_cast<double>(0.1F)});
}

TEST(TensorTest, OtherTypesAreNoFloatingPointNumbers) {
  for (const DataType type : {DataType::kBool, DataType::kUint8, DataType::kInt8, DataType::kInt16,
                              DataType::kInt32, DataType::kInt64}) {
    const std::string expected = std::string("values of type ") + NameOf(type);
    EXPECT_EQ(ArgumentError([&] { Float32Values(Zeros(type, {2})); }), expected);
    EXPECT_EQ(ArgumentError([&] { Float64Values(Zeros(type, {2})); }), expected);
  }
}

}  // namespace
}  // namespace runnel
