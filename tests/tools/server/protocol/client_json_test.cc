// Clients' JSON: the long string in it, and the bounds on everything else.
#include "tools/server/protocol/client_json.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace runnel::server {
namespace {

const std::string kLong(300000, 'A');

TEST(TakeStringOut, LeavesTheRest) {
  struct Case {
    std::string before;  // the string
    std::string after;
  };
  for (const Case& c : std::vector<Case>{
           {R"({"audio":")", R"("})"},
           {R"( { "type" : "x", "audio" : ")", R"(" } )"},
           {R"({"a":{"audio":"no"},"b":["audio",":",{"audio":1}],"audio":")", R"(","c":"audio"})"},
           {R"({"a":"\"audio\":\"","\\":"\\","audio":")", R"("})"},
           {R"({"x":"audio","audio":")", R"("})"}}) {
    const std::string text = c.before + kLong + c.after;
    const TextParts parts = TakeStringOut(text, "audio");
    EXPECT_EQ(parts.rest, c.before + c.after);
    EXPECT_EQ(parts.string, kLong) << c.before;
    EXPECT_EQ(parts.string_begin, c.before.size());
  }
}

TEST(TakeStringOut, ThereMayBeNone) {
  for (const std::string text : {R"({"audio":1})", R"(["audio","x"])", R"({"a":{"audio":"x"}})", "",
                                 "audio", R"({"audio")", R"({"audio":)"}) {
    const TextParts parts = TakeStringOut(text, "audio");
    EXPECT_EQ(parts.rest, text);
    EXPECT_EQ(parts.string, "") << text;
  }
}

TEST(TakeStringOut, EverythingElseIsBounded) {
  std::string numbers = R"({"a":[1)";
  for (int i = 0; i < 100000; ++i) numbers += ",1";
  for (const std::string& text :
       {numbers + "]}", R"({"a":")" + kLong + R"("})", R"({"audio":"A","b":")" + kLong + R"("})",
        R"({")" + kLong + R"(":1})", R"({"a":{"audio":")" + kLong + R"("}})"}) {
    try {
      TakeStringOut(text, "audio");
      ADD_FAILURE() << text.substr(0, 50);
    } catch (const ClientMistake& mistake) {
      EXPECT_EQ(mistake.code(), ErrorCode::kMessageTooLarge);
    }
  }
}

}  // namespace
}  // namespace runnel::server
