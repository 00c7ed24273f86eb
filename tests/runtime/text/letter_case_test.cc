#include "runtime/text/letter_case.h"

#include <gtest/gtest.h>

#include <string>

namespace runnel {
namespace {

const LetterCase& Letters() {
  static const LetterCase letters;
  return letters;
}

TEST(LetterCaseTest, LettersOfSeveralAlphabets) {
  const std::string lower =
      "straße, l'été, ÿ, łódź, čeština, ơư, việt, ελλάς, ёлка, қазақ, հայ 中1";
  const std::string upper =
      "STRAßE, L'ÉTÉ, Ÿ, ŁÓDŹ, ČEŠTINA, ƠƯ, VIỆT, ΕΛΛΆς, ЁЛКА, ҚАЗАҚ, ՀԱՅ 中1";
  EXPECT_EQ(Letters().Upper(lower), upper);
  EXPECT_EQ(Letters().Lower(upper), lower);
  EXPECT_EQ(Letters().Upper(upper), upper);
  EXPECT_EQ(Letters().Lower(lower), lower);
  EXPECT_TRUE(Letters().HasLower("Äb"));
  EXPECT_TRUE(Letters().HasUpper("Äb"));
  EXPECT_FALSE(Letters().HasLower("ÄB"));
  EXPECT_FALSE(Letters().HasUpper("äb"));
}

TEST(LetterCaseTest, TextWithoutCases) {
  for (const char* text : {"", "123 ,.", "中国", "ß", "ı", "😀 \xF0\x90\x90\x80"}) {
    EXPECT_EQ(Letters().Upper(text), text);
    EXPECT_EQ(Letters().Lower(text), text);
    EXPECT_FALSE(Letters().HasLower(text));
    EXPECT_FALSE(Letters().HasUpper(text));
  }
}

// Every character of two and three bytes: the cases are pairs.
TEST(LetterCaseTest, CasesArePairs) {
  int num_letters = 0;
  for (unsigned c = 0x80; c < 0x10000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    if (c >= 0x800) {
      text = {static_cast<char>(0xE0U | (c >> 12)), static_cast<char>(0x80U | ((c >> 6) & 0x3FU))};
    } else {
      text = {static_cast<char>(0xC0U | (c >> 6))};
    }
    text += static_cast<char>(0x80U | (c & 0x3FU));
    const std::string upper = Letters().Upper(text);
    const std::string lower = Letters().Lower(text);
    EXPECT_TRUE(upper == text || lower == text) << text;
    EXPECT_EQ(Letters().Lower(upper), lower) << text;
    EXPECT_EQ(Letters().Upper(lower), upper) << text;
    num_letters += upper == lower ? 0 : 1;
  }
  EXPECT_GT(num_letters, 700);
}

}  // namespace
}  // namespace runnel
