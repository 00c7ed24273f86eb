#include "tools/server/samples/base64.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
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

}  // namespace
}  // namespace runnel::server
