#include "tools/server/protocol/openai_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/server/dialects/protocol_conversation.h"

namespace runnel::server {
namespace {

using testing::Units;

TEST(PromptPhrases, AreShortPartsOfThePrompt) {
  EXPECT_EQ(PromptPhrases("Ann Lee, 3.5 mm;Dr.Who\nthis sentence has more than five words. ,two!"),
            (std::vector<std::string>{"Ann Lee", " 3.5 mm", "Dr.Who", "two"}));
  EXPECT_TRUE(PromptPhrases("").empty());
  EXPECT_TRUE(PromptPhrases(" ,;. \n").empty());
}

TEST(KeywordHotwords, KeywordsThenThePrompt) {
  EXPECT_EQ(KeywordHotwords({}, "", Units()), nullptr);
  const std::string long_phrase(5000, 'x');
  EXPECT_EQ(KeywordHotwords({"xyzzy", "", " ", "# two", long_phrase}, "", Units()), nullptr);
  const auto hotwords = KeywordHotwords({"two\nzero", "two :3"}, "zero, two zero", Units());
  ASSERT_NE(hotwords, nullptr);
  EXPECT_EQ(hotwords->text(), "two zero :0.75\nzero :0.75\n") << ":3 is a word, not a score";
}

TEST(EndAfter, IsInItsRange) {
  for (const double silence_ms : {0.0, 99.0, 500.0, 1e30}) {
    ChosenOptions options;
    EndAfter(AllowedSilenceMs(silence_ms), &options);  // throws what is out of range
    EXPECT_TRUE(options.values.stream.endpoints.enabled);
    EXPECT_TRUE(options.Has("endpoint_silence_s"));
  }
}

}  // namespace
}  // namespace runnel::server
