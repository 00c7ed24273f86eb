#include "tools/server/protocol/language_match.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace runnel::server {
namespace {

TEST(MatchLanguage, FindsTheLanguageThatACodeNames) {
  const std::vector<std::string> languages = {"de",    "de-DE", "eng",  "en-US",
                                              "en-GB", "fr",    "zh-CN"};
  const auto match = [&languages](const std::string& code) {
    return MatchLanguage(languages, code).value_or("none");
  };
  EXPECT_EQ(match("de"), "de");
  EXPECT_EQ(match("de-DE"), "de-DE");
  EXPECT_EQ(match("de-AT"), "de");
  EXPECT_EQ(match("en"), "en-US");
  EXPECT_EQ(match("en-GB"), "en-GB");
  EXPECT_EQ(match("en-AU"), "none");
  EXPECT_EQ(match("fr-CA"), "fr");
  EXPECT_EQ(match("fr-"), "fr");
  EXPECT_EQ(match("zh"), "zh-CN");
  EXPECT_EQ(match("multi"), "none");
  EXPECT_EQ(match(""), "none");
  EXPECT_EQ(MatchLanguage({}, "en"), std::nullopt);
}

}  // namespace
}  // namespace runnel::server
