// The Append functions write what the JSON library writes for the same value.
#include "tools/json/json_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tools/cli/decimal.h"

namespace runnel {
namespace {

using nlohmann::json;

std::string NumberText(double value) {
  std::string text;
  AppendNumber(value, &text);
  return text;
}

TEST(JsonText, NumbersHaveFourDecimals) {
  EXPECT_EQ(NumberText(0), "0.0");
  EXPECT_EQ(NumberText(240), "240.0");
  EXPECT_EQ(NumberText(-0.25), "-0.25");
  EXPECT_EQ(NumberText(0.00012), "0.0001");
  EXPECT_EQ(NumberText(0.99999), "1.0");
  EXPECT_EQ(NumberText(-1e-9), "0.0");
  EXPECT_EQ(NumberText(14400000.05), "14400000.05");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(NumberText(-std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(json::parse(NumberText(1e200)), 1e200);
  std::mt19937 random(20261121);
  std::uniform_real_distribution<double> exponent(-6, 12);
  for (int i = 0; i < 10000; ++i) {
    const double value = std::pow(10, exponent(random)) * (random() % 2 == 0 ? 1 : -1);
    EXPECT_EQ(json::parse(NumberText(value)), Rounded(value)) << value;
  }
}

TEST(JsonText, StringsAreTheLibrarys) {
  std::mt19937 random(20261121);
  const std::vector<std::string> scraps = {
      "word",         "\"",   "\\",           "\n",       "\x01", "\x7F",
      "\xE2\x96\x81", "\xFF", "\xED\xA0\x80", "\xC0\xAF", ""};
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (size_t n = random() % 4; n > 0; --n) text += scraps[random() % scraps.size()];
    std::string written;
    AppendString(text, &written);
    EXPECT_EQ(written, JsonText(text));
  }
}

TEST(JsonText, AFieldIsAddedToAnObject) {
  std::string object = JsonText({{"a", 1}});
  BeginField("b\n", &object);
  EXPECT_EQ(object + "2}", R"({"a":1,"b\n":2})");
}

}  // namespace
}  // namespace runnel
