#include "runtime/text/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace runnel {
namespace {

TEST(Utf8Test, TellsTextFromOtherBytes) {
  for (const std::string& text :
       std::vector<std::string>{"", "plain", "é", "你好", "▁", "😀", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  // Cut short, stray, overlong, surrogate, beyond the last character.
  for (const std::string& bytes : std::vector<std::string>{
           "\xE4\xBD", "a\x80", "\xC0\xAF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF4\x90\x80\x80",
           "\xF0\x8F\xBF\xBF", "\xFF", "\xC3(", "\xE4\xBD("}) {
    EXPECT_FALSE(IsUtf8(bytes));
  }
}

TEST(Utf8Test, CodePointsAndCharacters) {
  std::string text;
  size_t count = 0;
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point >= 0xD800 && code_point < 0xE000) continue;  // surrogates
    const std::string character = Character(code_point);
    ASSERT_TRUE(IsUtf8(character)) << static_cast<unsigned>(code_point);
    ASSERT_EQ(CodePoint(character), code_point);
    text += character;
    ++count;
  }
  const std::vector<std::string_view> characters = SplitCharacters(text);
  ASSERT_EQ(characters.size(), count);
  for (size_t i = 1; i < count; ++i) {
    ASSERT_LT(CodePoint(characters[i - 1]), CodePoint(characters[i]));
  }
  EXPECT_EQ(Character(U'字'), "字");
  EXPECT_TRUE(SplitCharacters("").empty());
}

}  // namespace
}  // namespace runnel
