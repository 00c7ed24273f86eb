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
      "straße, l'été, ÿ, łódź, čeština, ơư, việt, ελλάδα, ёлка, қазақ, հայ 中1";
  const std::string upper =
      "STRAßE, L'ÉTÉ, Ÿ, ŁÓDŹ, ČEŠTINA, ƠƯ, VIỆT, ΕΛΛΆΔΑ, ЁЛКА, ҚАЗАҚ, ՀԱՅ 中1";
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
  for (const char* text : {"", "123 ,.", "中国", "ß", "😀"}) {
    EXPECT_EQ(Letters().Upper(text), text);
    EXPECT_EQ(Letters().Lower(text), text);
    EXPECT_FALSE(Letters().HasLower(text));
    EXPECT_FALSE(Letters().HasUpper(text));
  }
}

}  // namespace
}  // namespace runnel
