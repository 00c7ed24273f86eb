// Every tensor is taken once, by name, as it must be; everything else is an error that names it.
#include "encoder/model_file/weights.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "tests/support/error_message.h"

namespace runnel {
namespace {

using testing::ErrorMessage;

at::Tensor Numbers() { return at::arange(6, at::kFloat).view({2, 3}); }

Weights OneTensor(const at::Tensor& tensor, at::ScalarType dtype = at::kFloat) {
  return Weights({{"a.weight", tensor}}, dtype, "model.pt");
}

std::string TakeError(const at::Tensor& tensor, const std::vector<int64_t>& shape) {
  Weights weights = OneTensor(tensor);
  return ErrorMessage<std::runtime_error>([&] { weights.Take("a.weight", shape); });
}

TEST(WeightsTest, GivesWhatIsStored) {
  Weights weights = OneTensor(Numbers());
  const at::Tensor taken = weights.Take("a.weight", {2, 3});
  EXPECT_TRUE(at::equal(taken, Numbers()));
  EXPECT_EQ(taken.scalar_type(), at::kFloat);
  EXPECT_NO_THROW(weights.CheckAllTaken());
}

TEST(WeightsTest, ConvertsToTheModelsPrecision) {
  Weights weights = OneTensor(Numbers() / 3, at::kDouble);
  const at::Tensor taken = weights.Take("a.weight", {2, 3});
  EXPECT_EQ(taken.scalar_type(), at::kDouble);
  EXPECT_TRUE(at::equal(taken, (Numbers() / 3).to(at::kDouble)));
}

TEST(WeightsTest, GivesContiguousTensorsOutsideAutograd) {
  const at::Tensor transposed = Numbers().t().requires_grad_(true);
  ASSERT_FALSE(transposed.is_contiguous());
  Weights weights = OneTensor(transposed);
  const at::Tensor taken = weights.Take("a.weight", {3, 2});
  EXPECT_TRUE(taken.is_contiguous());
  EXPECT_FALSE(taken.requires_grad());
  EXPECT_TRUE(at::equal(taken, Numbers().t()));
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
  EXPECT_EQ(TakeError(at::ones({}), {1}), "model.pt: tensor a.weight has shape (), expected (1)");
  EXPECT_EQ(TakeError(at::ones({0, 3}), {2, 3}),
            "model.pt: tensor a.weight has shape (0, 3), expected (2, 3)");
}

TEST(WeightsTest, WrongType) {
  for (const at::ScalarType type : {at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kBool}) {
    EXPECT_EQ(TakeError(Numbers().to(type), {2, 3}), "model.pt: tensor a.weight is of type " +
                                                         std::string(c10::toString(type)) +
                                                         ", expected Float");
  }
}

TEST(WeightsTest, NotFinite) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    at::Tensor tensor = Numbers();
    tensor[1][2] = value;
    EXPECT_EQ(TakeError(tensor, {2, 3}),
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
  Weights weights({{"b", Numbers()}, {"a", Numbers()}, {"c", Numbers()}}, at::kFloat, "model.pt");
  weights.Take("a", {2, 3});
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { weights.CheckAllTaken(); }),
            "model.pt: tensors that the configuration does not call for: b, c");
}

TEST(WeightsTest, NoTensors) {
  Weights weights({}, at::kFloat, "model.pt");
  EXPECT_NO_THROW(weights.CheckAllTaken());
  EXPECT_THROW(weights.Take("a", {1}), std::runtime_error);
}

}  // namespace
}  // namespace runnel
