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

TEST(EndpointsAfter, AreValid) {
  for (const double silence_ms : {0.0, 99.0, 500.0, 1e30}) {
    const EndpointOptions options = EndpointsAfter(AllowedSilenceMs(silence_ms));
    EXPECT_TRUE(options.enabled);
    options.Validate();
  }
}

}  // namespace
}  // namespace runnel::server
