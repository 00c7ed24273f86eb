// Real numbers as text, by the standard library and by what takes its place where it has none.
#include "platform/number_text.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>

#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

using Float = std::numeric_limits<float>;
using Double = std::numeric_limits<double>;

TEST(NumberTextTest, ReadsNumbers) {
  EXPECT_EQ(ReadFloat("1.5"), 1.5F);
  EXPECT_EQ(ReadFloat("-3e4"), -30000.0F);
  EXPECT_EQ(ReadFloat(".5"), 0.5F);
  EXPECT_EQ(ReadFloat("5."), 5.0F);
  EXPECT_EQ(ReadFloat("0"), 0.0F);
  EXPECT_TRUE(std::signbit(*ReadFloat("-0")));
  EXPECT_EQ(ReadFloat("16777217"), 16777216.0F);  // half-way, to even
  EXPECT_EQ(ReadDouble("0.1"), 0.1);
  EXPECT_EQ(ReadDouble("-1.25E-3"), -0.00125);
  EXPECT_EQ(ReadFloat("inf"), Float::infinity());
  EXPECT_EQ(ReadDouble("-Infinity"), -Double::infinity());
  EXPECT_TRUE(std::isnan(*ReadFloat("nan")));
}

TEST(NumberTextTest, RefusesOtherTexts) {
  const std::string with_nul("1\0", 2);
  for (const std::string& text :
       {std::string(), std::string("x"), std::string("1x"), std::string(" 1"), std::string("1 "),
        std::string("+1"), std::string("--1"), std::string("0x10"), std::string("1,5"),
        std::string("1.5.5"), std::string("1e"), std::string("e5"), std::string("-"),
        std::string("."), std::string("1\n"), with_nul}) {
    EXPECT_EQ(ReadFloat(text), std::nullopt) << text;
    EXPECT_EQ(ReadDouble(text), std::nullopt) << text;
  }
}

TEST(NumberTextTest, ReadsExtremesAndRefusesWhatIsBeyond) {
  EXPECT_EQ(ReadFloat("3.4028235e38"), Float::max());
  EXPECT_EQ(ReadFloat("1.17549435e-38"), Float::min());
  EXPECT_EQ(ReadFloat("1e-45"), Float::denorm_min());
  EXPECT_EQ(ReadDouble("1.7976931348623157e308"), Double::max());
  EXPECT_EQ(ReadDouble("5e-324"), Double::denorm_min());
  EXPECT_EQ(ReadFloat("1e39"), std::nullopt);
  EXPECT_EQ(ReadFloat("-1e39"), std::nullopt);
  EXPECT_EQ(ReadFloat("1e-60"), std::nullopt);
  EXPECT_EQ(ReadDouble("1e309"), std::nullopt);
  EXPECT_EQ(ReadDouble("1e-400"), std::nullopt);
  EXPECT_EQ(ReadFloat("1" + std::string(100, '0')), std::nullopt);
  EXPECT_EQ(ReadFloat("0." + std::string(1000, '3')), ReadFloat("0.3333333333"));
}

TEST(NumberTextTest, WritesTheShortestText) {
  EXPECT_EQ(ShortestText(0), "0");
  EXPECT_EQ(ShortestText(-0.0F), "-0");
  EXPECT_EQ(ShortestText(1), "1");
  EXPECT_EQ(ShortestText(-1.5F), "-1.5");
  EXPECT_EQ(ShortestText(0.1F), "0.1");
  EXPECT_EQ(ShortestText(0.001F), "0.001");
  EXPECT_EQ(ShortestText(0.0001F), "1e-04");
  EXPECT_EQ(ShortestText(0.00012F), "0.00012");
  EXPECT_EQ(ShortestText(100), "100");
  EXPECT_EQ(ShortestText(10000), "10000");
  EXPECT_EQ(ShortestText(100000), "1e+05");
  EXPECT_EQ(ShortestText(123456), "123456");
  EXPECT_EQ(ShortestText(16777216), "16777216");
  EXPECT_EQ(ShortestText(1234567936), "1234567936");
  EXPECT_EQ(ShortestText(Float::max()), "3.4028235e+38");
  EXPECT_EQ(ShortestText(Float::lowest()), "-3.4028235e+38");
  EXPECT_EQ(ShortestText(Float::min()), "1.1754944e-38");
  EXPECT_EQ(ShortestText(Float::denorm_min()), "1e-45");
  EXPECT_EQ(ShortestText(Float::infinity()), "inf");
  EXPECT_EQ(ShortestText(-Float::infinity()), "-inf");
  EXPECT_EQ(ShortestText(Float::quiet_NaN()), "nan");
}

TEST(NumberTextTest, TheTextReadsBackAsTheSameNumberAndHasNoNeedlessDigit) {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    if (!std::isfinite(number)) continue;
    const std::string text = ShortestText(number);
    ASSERT_EQ(ReadFloat(text), number) << text;
    char rounded[32];
    int num_decimals = 0;
    do {
      std::snprintf(rounded, sizeof rounded, "%.*e", num_decimals++, static_cast<double>(number));
    } while (ReadFloat(rounded) != number);
    ASSERT_LE(text.size(), std::strlen(rounded));
  }
}

// A program that embeds Runnel may have chosen one with a decimal comma.
TEST(NumberTextTest, TheLocaleHasNoEffect) {
  const testing::TemporaryFolder folder;
  const std::string make = "localedef --no-archive -i de_DE -f UTF-8 " +
                           folder.File("de_DE.UTF-8") + " > /dev/null 2>&1";
  const bool is_made = std::system(make.c_str()) == 0;
  ASSERT_EQ(setenv("LOCPATH", folder.File("").c_str(), 1), 0);
  const bool is_set = is_made && std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  if (is_set) {
    EXPECT_STREQ(std::localeconv()->decimal_point, ",");
    EXPECT_EQ(ShortestText(1.5F), "1.5");
    EXPECT_EQ(ShortestText(1.25e-20F), "1.25e-20");
    EXPECT_EQ(ReadFloat("1.5"), 1.5F);
    EXPECT_EQ(ReadDouble("-2.5e3"), -2500.0);
    EXPECT_EQ(ReadFloat("1,5"), std::nullopt);
    std::setlocale(LC_ALL, "C");
  }
  unsetenv("LOCPATH");
  if (!is_set) GTEST_SKIP() << "localedef has no German locale (Debian: locales)";
}

}  // namespace
}  // namespace runnel
