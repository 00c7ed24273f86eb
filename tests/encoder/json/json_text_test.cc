// JSON text that is large, deep or ambiguous.
#include "encoder/json/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace runnel {
namespace {

std::string ErrorOf(const std::string& text, size_t max_values = 100) {
  try {
    ParseJsonText(text, "message", "text", max_values);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

std::string Repeated(const std::string& text, size_t count) {
  std::string repeated;
  for (size_t i = 0; i < count; ++i) repeated += i == 0 ? text : "," + text;
  return repeated;
}

TEST(JsonText, IsWhatTheLibraryReads) {
  for (const std::string text :
       {R"({"a":[1,-2,2.5,"\u00e9\n",true,null,{}],"b":{"c":{"d":[[],[{}]]}},"":0})", "[]", "3",
        "\"text\"", "18446744073709551615", "-9223372036854775808"}) {
    EXPECT_EQ(ParseJsonText(text, "message", "text"), nlohmann::json::parse(text)) << text;
  }
}

// A parser that walks the array at the end of each object would take half a minute.
TEST(JsonText, TakesLinearTime) {
  const size_t count = 200000;
  const std::string objects = "[" + Repeated("{}", count) + "]";
  EXPECT_EQ(ParseJsonText(objects, "message", "text").size(), count);
  // One path for each key would be long.
  std::string keys = "{";
  for (size_t i = 0; i < count; ++i) keys += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{}";
  const std::string deep = "{\"" + std::string(100000, 'k') + "\":" + keys + "}}";
  EXPECT_EQ(ParseJsonText(deep, "message", "text").front().size(), count);
}

TEST(JsonText, BoundsDepthAndNumberOfValues) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(ErrorOf(nested(32)), "");
  EXPECT_EQ(ErrorOf(nested(33)), "message: text is nested deeper than 32 levels");
  EXPECT_EQ(ErrorOf(std::string(1 << 20, '[')), "message: text is nested deeper than 32 levels");
  EXPECT_EQ(ErrorOf("[" + Repeated("1", 99) + "]"), "");
  EXPECT_EQ(ErrorOf("[" + Repeated("1", 100) + "]"), "message: text has more than 100 values");
  EXPECT_EQ(ErrorOf("[" + Repeated("{}", 100) + "]"), "message: text has more than 100 values");
}

TEST(JsonText, NamesAKeyThatComesAgain) {
  EXPECT_EQ(ErrorOf(R"({"a":1,"a":2})"), "message: a is given twice, expected once");
  EXPECT_EQ(ErrorOf(R"({"x":[{"a":{"b":1,"b":1}}]})"),
            "message: x.a.b is given twice, expected once");
  EXPECT_EQ(ErrorOf(R"([{"a":1},{"a":1}])"), "");
}

TEST(JsonText, RefusesOtherText) {
  for (const std::string text : {"", "{", "[1,]", "{\"a\":1e400}", "nul", "\"\xff\"", "{} {}"}) {
    EXPECT_EQ(ErrorOf(text).rfind("message: text is not valid JSON (", 0), 0U) << text;
  }
}

}  // namespace
}  // namespace runnel
