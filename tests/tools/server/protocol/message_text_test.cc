// The Append functions write what the JSON library writes for the same value.
#include "tools/server/protocol/message_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/cli/decimal.h"

namespace runnel::server {
namespace {

using nlohmann::json;

std::string Number(double value) {
  std::string text;
  AppendNumber(value, &text);
  return text;
}

TEST(MessageText, NumbersHaveFourDecimals) {
  EXPECT_EQ(Number(0), "0.0");
  EXPECT_EQ(Number(240), "240.0");
  EXPECT_EQ(Number(-0.25), "-0.25");
  EXPECT_EQ(Number(0.00012), "0.0001");
  EXPECT_EQ(Number(0.99999), "1.0");
  EXPECT_EQ(Number(-1e-9), "0.0");
  EXPECT_EQ(Number(14400000.05), "14400000.05");
  EXPECT_EQ(Number(std::numeric_limits<double>::quiet_NaN()), "null");
  EXPECT_EQ(Number(-std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(json::parse(Number(1e200)), 1e200);
  std::mt19937 random(20261121);
  std::uniform_real_distribution<double> exponent(-6, 12);
  for (int i = 0; i < 10000; ++i) {
    const double value = std::pow(10, exponent(random)) * (random() % 2 == 0 ? 1 : -1);
    EXPECT_EQ(json::parse(Number(value)), Rounded(value)) << value;
  }
}

TEST(MessageText, StringsAreTheLibrarys) {
  std::mt19937 random(20261121);
  const std::vector<std::string> scraps = {
      "word",         "\"",   "\\",           "\n",       "\x01", "\x7F",
      "\xE2\x96\x81", "\xFF", "\xED\xA0\x80", "\xC0\xAF", ""};
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (size_t n = random() % 4; n > 0; --n) text += scraps[random() % scraps.size()];
    std::string written;
    AppendString(text, &written);
    EXPECT_EQ(written, MessageText(text));
  }
}

TEST(MessageText, ResultsAreOfTheWantedSizeAndParts) {
  Hypothesis hypothesis;
  hypothesis.text = "one \"two\"";
  hypothesis.score = -0.5;
  hypothesis.tokens = {testing::TokenAt(1, 0, 40), testing::TokenAt(2, 40, 80)};
  hypothesis.words = {{"one", 0, 40, 0.5F}};
  const std::vector<Hypothesis> nbest(3, hypothesis);
  for (const bool wants_tokens : {false, true}) {
    for (const size_t most : {size_t{0}, size_t{2}, size_t{9}}) {
      std::string text;
      AppendResults(nbest, most, wants_tokens, testing::Units(), &text);
      const json results = json::parse(text);
      ASSERT_EQ(results.size(), std::min(most, nbest.size()));
      for (const json& one : results) {
        EXPECT_EQ(one["text"], hypothesis.text);
        EXPECT_EQ(one["score"], -0.5);
        EXPECT_EQ(one.contains("tokens"), wants_tokens);
        if (wants_tokens) {
          EXPECT_EQ(one["tokens"].size(), 2U);
        }
        EXPECT_EQ(one["words"],
                  json::parse(R"([{"text":"one","start_ms":0,"end_ms":40,"confidence":0.5}])"));
      }
    }
  }
}

}  // namespace
}  // namespace runnel::server
