#include "runtime/text/printable.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/error_message.h"

namespace runnel {
namespace {

using testing::Contains;
using std::string_literals::operator""s;

TEST(Printable, KeepsText) {
  EXPECT_EQ(Printable("wie geht's, 你好, 👋🏽"), "wie geht's, 你好, 👋🏽");
  EXPECT_EQ(Printable("می\u200cخواهم"), "می\u200cخواهم");  // a joiner is part of the word
  EXPECT_EQ(Printable(""), "");
}

TEST(Printable, EscapesWhatTerminalsObey) {
  EXPECT_EQ(Printable("a\tb\r\nc\u0085d\u2028e\u2029f"), "a b  c d e f");
  EXPECT_EQ(Printable("\0\x1b\x7f"s), R"(\x00\x1b\x7f)");
  EXPECT_EQ(Printable("\u009b31m"), R"(\u009b31m)");
  EXPECT_EQ(Printable("\u202eabc\u2066\u200f\ufeff\u061c"), R"(\u202eabc\u2066\u200f\ufeff\u061c)");
  EXPECT_EQ(Printable("\U000E0041"), R"(\U000e0041)");
}

TEST(Printable, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(Printable("a\xff\xc3(\xe4\xbd"), R"(a\xff\xc3(\xe4\xbd)");
  EXPECT_EQ(Printable("\xed\xa0\x80"), R"(\xed\xa0\x80)");  // a surrogate
}

TEST(Printable, CutsAtCharacters) {
  EXPECT_EQ(Printable("abc", 3), "abc");
  EXPECT_EQ(Printable("abcd", 3), "abc...");
  EXPECT_EQ(Printable("ab你cd", 3), "ab你...");
}

TEST(Quoted, IsShort) {
  EXPECT_EQ(Quoted("a\0b"s), R"('a\x00b')");
  EXPECT_LT(Quoted(std::string(1000, 'a')).size(), 100U);
}

TEST(DecompositionNote, IsForTextThatUnicodeComposes) {
  for (const char* text :
       {"e\u0301", "A\u030A", "Ü\u0304", "и\u0306", "ω\u0345", "か\u3099", "ハ\u309A",
        "\u1112\u1161", "하\u11AB", "ا\u0653", "ي\u0654", "न\u093C", "ে\u09BE"}) {
    EXPECT_TRUE(Contains(DecompositionNote(text), "(NFD)")) << text;
  }
  for (const char* text :
       {"", "é", "Å", "が", "パ", "한", "ɔ\u0301", "q\u0301", "\u0301", "\u1112", "한\u11AB",
        "あ\u3099", "مُحَمَّد", "قرآن", "שָׁלוֹם", "हिन्दी", "ক\u09BE", "x\u20D7"}) {
    EXPECT_EQ(DecompositionNote(text), "") << text;
  }
}

}  // namespace
}  // namespace runnel
