#include "tools/server/samples/base64.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tools/server/dialects/protocol_conversation.h"

namespace runnel::server {
namespace {

TEST(DecodeBase64, ReversesEveryEncoding) {
  std::mt19937 random(1);
  for (size_t size = 0; size < 200; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(DecodeBase64(testing::Base64(bytes)), bytes) << size;
  }
}

TEST(DecodeBase64, AcceptsNothingElse) {
  for (const std::string& text : std::vector<std::string>{
           "a", "ab", "abc", "abc=d===", "====", "ab==ab==", "a===", "abc\n", " abc", "abc ",
           "ab-_", "abcd\n", "abcdabc", "ab=c", "-abc", "abc-"}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
  EXPECT_EQ(DecodeBase64(std::string("abc\0", 4)), std::nullopt);
  EXPECT_EQ(DecodeBase64("\xFF\xFF\xFF\xFF"), std::nullopt);
  EXPECT_EQ(DecodeBase64(""), "");
}

// Empty when it is not base64.
std::optional<std::string> DecodeInParts(std::string_view text, size_t count) {
  JsonBase64Reader reader;
  std::string bytes;
  for (bool is_last = false; !is_last;) {
    const size_t size = JsonBase64Reader::PartSize(text, count);
    is_last = size == text.size();
    const std::optional<std::string> part = reader.Decode(text.substr(0, size), is_last);
    if (!part.has_value()) return std::nullopt;
    bytes += *part;
    text.remove_prefix(size);
  }
  return bytes;
}

TEST(JsonBase64Reader, PartsAreCutAnywhere) {
  std::mt19937 random(2);
  for (size_t size = 0; size < 100; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    std::string escaped;
    for (const char c : testing::Base64(bytes)) {
      escaped += c == '/' ? "\\/" : c == '+' ? "\\u002b" : std::string(1, c);
    }
    EXPECT_TRUE(IsJsonBase64(escaped)) << escaped;
    for (size_t count = 7; count < 20; ++count) {
      EXPECT_EQ(DecodeInParts(escaped, count), bytes) << escaped;
    }
  }
}

TEST(JsonBase64Reader, AcceptsNothingElse) {
  for (const std::string text : {"abc", "ab==ab==", "abc=abcdabcdabcd", "abcd\\", "ab\\\\d",
                                 "abc\\n", "abc\\u12", "abc\"", "abcdabcda\\qbc"}) {
    EXPECT_FALSE(IsJsonBase64(text)) << text;
    EXPECT_EQ(DecodeInParts(text, 7), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace runnel::server
