#include "tools/server/dialects/protocol_registry.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server {
namespace {

using testing::Binary;
using testing::Text;
using testing::Units;

TEST(ChooseProtocol, ByTheFirstMessage) {
  struct Case {
    ClientMessage first;
    std::string expected;  // the protocol's name, or the error's
  };
  const std::string deep = "{\"type\":" + std::string(50000, '[');
  const std::string large(kMaxControlBytes + 1, '{');
  for (const Case& c : std::vector<Case>{{Text(R"({"type":"start","version":1})"), "runnel"},
                                         {Text(R"({"type":"resume"})"), "runnel"},
                                         {Text(R"({"type":7})"), "runnel"},
                                         {Text(R"({"signal":"start","nbest":1})"), "wenet"},
                                         {Text(R"({"signal":null})"), "wenet"},
                                         {Binary("abcd"), "sherpa"},
                                         {Binary(""), "sherpa"},
                                         {Binary(R"({"type":"start"})"), "sherpa"},
                                         {Text("Done"), "sherpa"},
                                         {Text("done"), "bad_json"},
                                         {Text(""), "bad_json"},
                                         {Text("[1]"), "bad_json"},
                                         {Text("{\"type\""), "bad_json"},
                                         {Text("\xFF\xFE"), "bad_json"},
                                         {Text(deep), "bad_json"},
                                         {Text(large), "message_too_large"},
                                         {Text("{}"), "bad_message"},
                                         {Text(R"({"config":{"sample_rate":16000}})"), "vosk"},
                                         {Text(R"({"type":1,"config":{}})"), "runnel"}}) {
    std::vector<ClientRequest> requests;
    const std::unique_ptr<Protocol> protocol = ReadFirstMessage(c.first, Units(), &requests);
    EXPECT_EQ(protocol == nullptr ? CodeName(testing::Only<ProtocolError>(requests).code)
                                  : protocol->name(),
              c.expected)
        << c.first.bytes.substr(0, 100);
  }
}

TEST(FirstTakesLong, LargeMessagesAndHotwords) {
  EXPECT_FALSE(FirstTakesLong(Text(R"({"type":"start","version":1})")));
  EXPECT_FALSE(FirstTakesLong(Binary(std::string(60000, 'x'))));
  EXPECT_TRUE(FirstTakesLong(Binary(std::string(70000, 'x'))));
  EXPECT_TRUE(FirstTakesLong(Text(std::string(5000, ' '))));
  EXPECT_TRUE(FirstTakesLong(Text(R"({"type":"start","version":1,"hotwords":"two"})")));
  EXPECT_TRUE(FirstTakesLong(Text(R"({"type":"start","\u0068otwords":"two"})")));
  EXPECT_TRUE(FirstTakesLong(Text(R"({"config":{"phrase_list":["two"]}})")));
}

TEST(RecordingPaths, AreThoseThatTakeRecordings) {
  const std::vector<std::string> expected = {"/v1/recognize", "/v1/audio/transcriptions",
                                             "/v1/listen"};
  EXPECT_EQ(RecordingPaths(), expected);
  for (const std::string& path : expected) EXPECT_TRUE(TakesRecordings(path)) << path;
  for (const char* path : {"/", "/v1/listen/", "/v1/realtime", "/v2/listen"}) {
    EXPECT_FALSE(TakesRecordings(path)) << path;
  }
}

TEST(ServicePath, IsKnownByTheEndOfThePath) {
  const std::string transcriptions = "/v1/audio/transcriptions";
  for (const auto& [path, expected] : std::vector<std::pair<std::string, std::string>>{
           {"/v1/audio/transcriptions", transcriptions},
           {"/v1/audio/transcriptions/", transcriptions},
           {"/audio/transcriptions", transcriptions},
           {"/openai/v1/audio/transcriptions", transcriptions},
           {"/openai/deployments/my-model/audio/transcriptions", transcriptions},
           {"/api/v1/audio/translations", "/v1/audio/translations"},
           {"/realtime", "/v1/realtime"},
           {"/openai/realtime", "/v1/realtime"},
           {"/asr/v1/listen/", "/v1/listen"},
           {"/models", "/v1/models"},
           {"/openai/v1/models/", "/v1/models"},
           {"/modelsx/v1/models/a/b", "/v1/models/a/b"},
           {"/modelsx", "/modelsx"},
           {"/v1/recognize/", "/v1/recognize"},
           {"/listen", "/listen"},
           {"/", "/"},
           {"//", "/"},
           {"", ""}}) {
    EXPECT_EQ(ServicePath(path), expected) << path;
  }
}

TEST(HttpDialectOf, AnswersClientsInTheirWords) {
  struct Case {
    std::string path;
    std::string unauthorized_code;
    bool is_renamed;  // the reply has fields of its own
  };
  for (const Case& c : std::vector<Case>{{"/v1/listen", "invalid_auth", true},
                                         {"/v2/listen", "invalid_auth", true},
                                         {"/v1/realtime", "invalid_api_key", false},
                                         {"/v1/audio/transcriptions", "invalid_api_key", false},
                                         {"/v1/models", "invalid_api_key", false},
                                         {"/v1/models/tiny", "invalid_api_key", false},
                                         {"/v1/modelsx", "unauthorized", false},
                                         {"/v1/realtime/x", "unauthorized", false},
                                         {"/vosk", "unauthorized", false},
                                         {"/v1/recognize", "unauthorized", false},
                                         {"/", "unauthorized", false}}) {
    const HttpDialect& dialect = HttpDialectOf(c.path);
    EXPECT_EQ(dialect.unauthorized_code, c.unauthorized_code) << c.path;
    HttpReply reply;
    reply.body = "as it was";
    reply.error = {"bad_option", "no"};
    reply = dialect.in_words(reply, "7");
    EXPECT_EQ(reply.body, c.is_renamed ? "{\"err_code\":\"INVALID_QUERY_PARAMETER\","
                                         "\"err_msg\":\"no\",\"request_id\":\"7\"}\n"
                                       : "as it was")
        << c.path;
    EXPECT_EQ(reply.headers.size(), c.is_renamed ? 2U : 0U) << c.path;
  }
}

TEST(AllTokenPlaces, ThoseOfEveryProtocol) {
  const TokenPlaces all = AllTokenPlaces();
  EXPECT_EQ(all.schemes, std::vector<std::string>{"token"});
  EXPECT_EQ(all.names, (std::vector<std::string>{"token", "bearer"}));
  EXPECT_EQ(all.prefixes, std::vector<std::string>{"openai-insecure-api-key."});
  EXPECT_EQ(HttpDialectOf("/v1/audio/transcriptions").token_places.headers,
            std::vector<std::string>{"api-key"});  // of Azure's clients
}

TEST(ErrorCode, NamesAndCloseCodes) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_TRUE(names.insert(CodeName(code)).second) << CodeName(code);
    EXPECT_TRUE((std::set<int>{1008, 1009, 1011, 1013}).count(CloseCode(code)) == 1);
  }
  EXPECT_EQ(CloseCode(ErrorCode::kBadJson), 1008);
  EXPECT_EQ(CloseCode(ErrorCode::kMessageTooLarge), 1009);
  EXPECT_EQ(CloseCode(ErrorCode::kInternal), 1011);
  EXPECT_EQ(CloseCode(ErrorCode::kFull), 1013);
}

TEST(ErrorText, IsOneLineOfJson) {
  const ProtocolError error{ErrorCode::kFull, "no \"room\"\n\xFF"};
  EXPECT_EQ(ErrorText(error),
            "{\"type\":\"error\",\"code\":\"full\",\"message\":\"no \\\"room\\\" \\\\xff\"}");
  EXPECT_EQ(HttpErrorBody(503, CodeName(error.code), error.message),
            "{\"error\":{\"message\":\"no \\\"room\\\" \\\\xff\",\"type\":\"server_error\","
            "\"param\":null,\"code\":\"full\"}}");
  EXPECT_EQ(HttpErrorBody(400, "bad_option", "no", "file"),
            R"({"error":{"message":"no","type":"invalid_request_error","param":"file",)"
            R"("code":"bad_option"}})");
}

TEST(CloseReason, FitsIntoACloseFrame) {
  EXPECT_EQ(CloseReason("DATA-0000", {ErrorCode::kBadMessage, "a\n\xFF"}), R"(DATA-0000: a \xff)");
  std::string characters;
  while (characters.size() < 200) characters += "\u5B57";
  const std::string reason = CloseReason("x", {ErrorCode::kBadMessage, characters});
  EXPECT_EQ(reason, "x: " + characters.substr(0, 117) + "...");
  EXPECT_EQ(CloseReason("xx", {ErrorCode::kBadMessage, characters}),
            "xx: " + characters.substr(0, 114) + "...");
  EXPECT_EQ(CloseReason("x", {ErrorCode::kBadMessage, characters.substr(0, 120)}),
            "x: " + characters.substr(0, 120));
}

}  // namespace
}  // namespace runnel::server
