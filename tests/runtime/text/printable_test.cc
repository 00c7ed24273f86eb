#include "runtime/text/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace runnel {
namespace {

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

}  // namespace
}  // namespace runnel
