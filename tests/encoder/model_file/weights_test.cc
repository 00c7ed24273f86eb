// Every tensor is taken once, by name, as it must be; everything else is an error that names it.
#include "encoder/model_file/weights.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/error_message.h"

namespace runnel {
namespace {

using testing::ErrorMessage;

std::vector<float> NumberValues() { return {0, 1, 2, 3, 4, 1.0F / 3}; }
Tensor Numbers() { return {{2, 3}, NumberValues()}; }

Weights OneTensor(const Tensor& tensor, DataType type = DataType::kFloat32) {
  return Weights({{"a.weight", tensor}}, type, "model.pt");
}

std::string TakeError(const Tensor& tensor, const Shape& shape) {
  Weights weights = OneTensor(tensor);
  return ErrorMessage<std::runtime_error>([&] { weights.Take("a.weight", shape); });
}

TEST(WeightsTest, GivesWhatIsStored) {
  const Tensor numbers = Numbers();
  Weights weights = OneTensor(numbers);
  const Tensor taken = weights.Take("a.weight", {2, 3});
  EXPECT_EQ(taken.type(), DataType::kFloat32);
  EXPECT_EQ(taken.shape(), (Shape{2, 3}));
  EXPECT_EQ(taken.data(), numbers.data());  // no copy
  EXPECT_NO_THROW(weights.CheckAllTaken());
}

TEST(WeightsTest, ConvertsToTheModelsPrecision) {
  Weights weights = OneTensor(Numbers(), DataType::kFloat64);
  const Tensor taken = weights.Take("a.weight", {2, 3});
  EXPECT_EQ(taken.type(), DataType::kFloat64);
  EXPECT_EQ(taken.float64()[5], double{1.0F / 3});
}

TEST(WeightsTest, WidensNarrowTypes) {
  const auto bits = std::make_shared<const std::vector<uint16_t>>(3, 0x3f80);
  const std::shared_ptr<const void> values(bits, bits->data());
  Weights weights({{"bfloat16", Tensor(DataType::kBfloat16, {3}, values)},
                   {"float16", Tensor(DataType::kFloat16, {3}, values)}},
                  DataType::kFloat32, "model.pt");
  const Tensor bfloat16 = weights.Take("bfloat16", {3});
  EXPECT_EQ(bfloat16.type(), DataType::kFloat32);
  EXPECT_EQ(Float32Values(bfloat16), std::vector<float>(3, 1.0F));
  EXPECT_EQ(Float32Values(weights.Take("float16", {3})), std::vector<float>(3, 1.875F));
}

TEST(WeightsTest, Missing) {
  Weights weights = OneTensor(Numbers());
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] {
              weights.Take("b.weight", {2, 3});
            }),
            "model.pt: tensor b.weight is missing, expected shape (2, 3)");
}

TEST(WeightsTest, WrongShape) {
  EXPECT_EQ(TakeError(Numbers(), {3, 2}),
            "model.pt: tensor a.weight has shape (2, 3), expected (3, 2)");
  EXPECT_EQ(TakeError(Numbers(), {6}), "model.pt: tensor a.weight has shape (2, 3), expected (6)");
  EXPECT_EQ(TakeError(Numbers(), {2, 3, 1}),
            "model.pt: tensor a.weight has shape (2, 3), expected (2, 3, 1)");
  EXPECT_EQ(TakeError(Zeros(DataType::kFloat32, {}), {1}),
            "model.pt: tensor a.weight has shape (), expected (1)");
  EXPECT_EQ(TakeError(Zeros(DataType::kFloat32, {0, 3}), {2, 3}),
            "model.pt: tensor a.weight has shape (0, 3), expected (2, 3)");
}

TEST(WeightsTest, WrongType) {
  for (const DataType type :
       {DataType::kFloat64, DataType::kInt64, DataType::kInt8, DataType::kBool}) {
    EXPECT_EQ(TakeError(Zeros(type, {2, 3}), {2, 3}),
              "model.pt: tensor a.weight is of type " + std::string(NameOf(type)) +
                  ", expected float32, float16 or bfloat16");
  }
}

TEST(WeightsTest, NotFinite) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    std::vector<float> values = NumberValues();
    values.back() = value;
    EXPECT_EQ(TakeError(Tensor({2, 3}, values), {2, 3}),
              "model.pt: tensor a.weight holds NaN or infinity, expected finite values");
  }
}

TEST(WeightsTest, TakenTwiceIsABugOfOurs) {
  Weights weights = OneTensor(Numbers());
  weights.Take("a.weight", {2, 3});
  EXPECT_EQ(ErrorMessage<std::logic_error>([&] {
              weights.Take("a.weight", {2, 3});
            }),
            "model.pt: tensor a.weight is taken twice");
}

TEST(WeightsTest, LeftOverTensorsAreListed) {
  Weights weights({{"b", Numbers()}, {"a", Numbers()}, {"c", Numbers()}}, DataType::kFloat32,
                  "model.pt");
  weights.Take("a", {2, 3});
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { weights.CheckAllTaken(); }),
            "model.pt: tensors that the configuration does not call for: b, c");
}

TEST(WeightsTest, NoTensors) {
  Weights weights({}, DataType::kFloat32, "model.pt");
  EXPECT_NO_THROW(weights.CheckAllTaken());
  EXPECT_THROW(weights.Take("a", {1}), std::runtime_error);
}

}  // namespace
}  // namespace runnel
