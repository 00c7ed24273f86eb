#include "tools/server/resources/rated_log.h"

#include <gtest/gtest.h>

namespace runnel::server {
namespace {

constexpr LineRates::Time kStart{};
constexpr std::chrono::milliseconds kAlmost{999};
constexpr std::chrono::seconds kSecond{1};

TEST(LineRates, WritesALineOfAKindInASecond) {
  LineRates rates;
  EXPECT_EQ(rates.Line("kind", "one", kStart), "kind: one");
  EXPECT_EQ(rates.Line("kind", "two", kStart + kAlmost), std::nullopt);
  EXPECT_EQ(rates.Line("other", "three", kStart + kAlmost), "other: three");
  EXPECT_EQ(rates.Line("kind", "four", kStart + kSecond),
            "kind: four (1 more lines were left out)");
  EXPECT_EQ(rates.Line("kind", "five", kStart + 2 * kSecond), "kind: five");
}

TEST(LineRates, TellsInTheEndWhatWasLeftOut) {
  LineRates rates;
  for (int i = 0; i < 4; ++i) rates.Line("kind", "text", kStart);
  rates.Line("other", "text", kStart);
  EXPECT_EQ(rates.TakeLeftOut(), std::vector<std::string>{"kind: 3 more lines were left out"});
  EXPECT_TRUE(rates.TakeLeftOut().empty());
}

TEST(LineRates, ShowsAClientsBytesInPrintableCharacters) {
  LineRates rates;
  const std::string text = "a\x1b[31m\u202e" + std::string(1000, 'b') + "\nnext line";
  const std::string line = *rates.Line("kind", text, kStart);
  EXPECT_EQ(line.substr(0, 24), R"(kind: a\x1b[31m\u202ebbb)");
  EXPECT_LT(line.size(), 350U);
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace runnel::server
