// The heads of classes in TorchScript's source text.
#include "encoder/model_file/script_class.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>

#include "tests/support/error_message.h"

namespace runnel {
namespace {

using Names = std::set<std::string, std::less<>>;

ScriptClasses Classes(const std::string& source) {
  ScriptClasses classes;
  ReadScriptClasses(source, "__torch__.a.", &classes);
  return classes;
}

TEST(ScriptClassTest, DeclarationsOfAModule) {
  const ScriptClass read = Classes(
                               "class Norm(Module):\n"
                               "  __parameters__ = [\"weight\", \"bias\", ]\n"
                               "  __buffers__ = [\"mean\", ]\n"
                               "  __annotations__ = []\n"
                               "  __annotations__[\"0\"] = Tensor\n"
                               "  __annotations__[\"1\"] = __torch__.a.Other\n"
                               "  weight : Tensor\n"
                               "  bias : Optional[Tensor]\n"
                               "  mean : Tensor\n"
                               "  training : bool\n"
                               "  eps : Final[float] = 1.0000000000000001e-05\n"
                               "  scale : Final[float] = 16.\n"
                               "  size : Final[int] = -3\n"
                               "  affine : Final[bool] = True\n"
                               "  centered : Final[bool] = False\n"
                               "  mode : Final[str] = \"zeros\"\n"
                               "  huge : Final[int] = 99999999999999999999\n"
                               "  wrong : Final[float] = 1.5x\n"
                               "  def forward(self: __torch__.a.Norm,\n"
                               "    x: Tensor) -> Tensor:\n"
                               "    inner : Tensor\n"
                               "  late : Tensor\n")
                               .at("__torch__.a.Norm");
  EXPECT_TRUE(read.is_module);
  EXPECT_EQ(read.parameters, (Names{"weight", "bias"}));
  EXPECT_EQ(read.tensors, (Names{"weight", "mean", "0"}));
  EXPECT_EQ(read.buffers, Names{"mean"});
  EXPECT_EQ(read.constants.size(), 5U);
  EXPECT_EQ(std::get<double>(read.constants.at("eps")), 1.0000000000000001e-05);
  EXPECT_EQ(std::get<double>(read.constants.at("scale")), 16.0);
  EXPECT_EQ(std::get<int64_t>(read.constants.at("size")), -3);
  EXPECT_TRUE(std::get<bool>(read.constants.at("affine")));
  EXPECT_FALSE(std::get<bool>(read.constants.at("centered")));
}

TEST(ScriptClassTest, OtherClasses) {
  const ScriptClasses classes = Classes(
      "op_version_set = 1\n"
      "class First(Module):\n  a : Tensor\n  def f(self):\n    return 1\n"
      "class Second:\n  b : int\n"
      "class Third(NamedTuple):\n  c : Tensor\n"
      "def function(x: Tensor) -> Tensor:\n  y : Tensor\n");
  ASSERT_EQ(classes.size(), 3U);
  EXPECT_TRUE(classes.at("__torch__.a.First").is_module);
  EXPECT_FALSE(classes.at("__torch__.a.Second").is_module);
  EXPECT_FALSE(classes.at("__torch__.a.Third").is_module);
}

TEST(ScriptClassTest, AnyText) {
  EXPECT_TRUE(Classes("").empty());
  EXPECT_EQ(Classes("class ").size(), 1U);
  EXPECT_EQ(
      Classes("class A(Module):\n  __parameters__ = [\"a\n  __annotations__[\"\n   : \n").size(),
      1U);
  EXPECT_EQ(testing::ErrorMessage<std::runtime_error>(
                [] { Classes("class A(Module):\nclass A(Module):\n"); }),
            "declares the class A twice");
}

}  // namespace
}  // namespace runnel
