#include "tools/server/dialects/wenet_protocol.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

using nlohmann::json;
using testing::Binary;
using testing::EndedTwo;
using testing::ExpectConversation;
using testing::FinalTwoZero;
using testing::Only;
using testing::OnlyMessage;
using testing::Pcm16;
using testing::RunningZe;
using testing::Shown;
using testing::Text;
using testing::TwoZero;
using testing::Units;

constexpr const char* kStart = R"({"signal":"start","nbest":1,"continuous_decoding":false})";
constexpr const char* kEnd = R"({"signal":"end"})";

TEST(WenetProtocol, Conversation) {
  WenetProtocol protocol(Units());
  EXPECT_STREQ(protocol.name(), "wenet");
  ExpectConversation(&protocol, {{Text(kStart), "start"},
                                 {Binary("abc"), "audio 1"},
                                 {Binary("def"), "audio 2"},
                                 {Text(kEnd), "finish"}});
  EXPECT_EQ(protocol.OnReady({}),
            std::vector<std::string>{R"({"status":"ok","type":"server_ready"})"});
}

TEST(WenetProtocol, Results) {
  WenetProtocol protocol(Units());
  protocol.Read(Text(R"({"signal":"start","nbest":2})"));
  const json partial = OnlyMessage(protocol.OnUpdate(TwoZero()));
  EXPECT_EQ(partial["status"], "ok");
  EXPECT_EQ(partial["type"], "partial_result");
  EXPECT_EQ(partial["nbest"], R"([{"sentence":"two zero"}])");

  LiveUpdate next;  // the text is always the whole one
  next.stable_text = " zero";
  next.stable_size_before = 3;
  next.stable_tokens_before = 1;
  next.tentative_text = " two";
  EXPECT_EQ(OnlyMessage(protocol.OnUpdate(next))["nbest"], R"([{"sentence":"two zero two"}])");

  const std::vector<std::string> texts = protocol.OnUpdate(FinalTwoZero());
  ASSERT_EQ(texts.size(), 2U);
  const json final = json::parse(texts[0]);
  EXPECT_EQ(final["status"], "ok");
  EXPECT_EQ(final["type"], "final_result");
  const json pieces = {{{"word", "\u2581two"}, {"start", 40}, {"end", 200}},
                       {{"word", "\u2581ze"}, {"start", 320}, {"end", 360}},
                       {{"word", "ro"}, {"start", 400}, {"end", 480}}};
  EXPECT_EQ(json::parse(final["nbest"].get<std::string>()),
            (json{{{"sentence", "two zero"}, {"word_pieces", pieces}},
                  {{"sentence", "two"}, {"word_pieces", json::array({pieces[0]})}}}));
  EXPECT_EQ(texts[1], R"({"status":"ok","type":"speech_end"})");
}

TEST(WenetProtocol, SilentUntilSomethingIsHeard) {
  WenetProtocol protocol(Units());
  protocol.Read(Text(kStart));
  EXPECT_TRUE(protocol.OnUpdate({}).empty());
  LiveUpdate nothing;
  nothing.is_final = true;
  nothing.utterances.resize(1);
  nothing.utterances[0].nbest.resize(1);
  const std::vector<std::string> texts = protocol.OnUpdate(nothing);
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(json::parse(texts[0])["nbest"], R"([{"sentence":"","word_pieces":[]}])");
}

TEST(WenetProtocol, ContinuousDecodingHasAResultPerUtterance) {
  WenetProtocol protocol(Units());
  const auto start = Only<StartRequest>(
      protocol.Read(Text(R"({"signal":"start","nbest":1,"continuous_decoding":true})")));
  EXPECT_TRUE(start.options.values.stream.endpoints.enabled);
  EXPECT_EQ(start.options.values.stream.endpoints.rules[0].min_silence_s, 5);
  EXPECT_EQ(start.options.values.stream.endpoints.rules[1].min_silence_s, 1);
  EXPECT_EQ(start.options.values.stream.endpoints.rules[2].min_utterance_s, 20);
  EXPECT_EQ(start.options.values.stream.endpoints.silence_blank_probability, 0.8);
  const auto shown = [](const std::vector<std::string>& texts) {
    std::vector<std::string> results;
    for (const std::string& text : texts) {
      const json message = json::parse(text);
      results.push_back(
          message["type"].get<std::string>() + ":" +
          (message.contains("nbest")
               ? json::parse(message["nbest"].get<std::string>())[0]["sentence"].get<std::string>()
               : ""));
    }
    return results;
  };
  using Strings = std::vector<std::string>;
  EXPECT_EQ(shown(protocol.OnUpdate(TwoZero())), Strings{"partial_result:two zero"});
  LiveUpdate next = RunningZe(2);
  next.utterances = {EndedTwo(0), EndedTwo(1)};
  EXPECT_EQ(shown(protocol.OnUpdate(next)),
            (Strings{"final_result:two", "final_result:two", "partial_result:ze"}));
  next = RunningZe(3);
  next.stable_text.clear();
  next.utterances = {EndedTwo(2)};
  EXPECT_EQ(shown(protocol.OnUpdate(next)), Strings{"final_result:two"});
  LiveUpdate last;  // also when nothing is left
  last.is_final = true;
  last.utterances.resize(1);
  last.utterances[0].nbest.resize(1);
  EXPECT_EQ(shown(protocol.OnUpdate(last)), (Strings{"final_result:", "speech_end:"}));
}

TEST(WenetProtocol, AFailedStreamHasTheUtterancesBefore) {
  WenetProtocol protocol(Units());
  protocol.Read(Text(kStart));
  LiveUpdate failed;
  failed.is_final = true;
  failed.error = "broken";
  failed.utterances = {EndedTwo(0)};
  const std::vector<std::string> texts = protocol.OnUpdate(failed);
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(json::parse(texts[0])["type"], "final_result");
  EXPECT_EQ(json::parse(texts[1])["status"], "failed");
}

TEST(WenetProtocol, StartOptions) {
  struct Case {
    std::string fields;
    int nbest;
  };
  for (const Case& c : std::vector<Case>{{"", 1},
                                         {R"(,"nbest":1,"continuous_decoding":true)", 1},
                                         {R"(,"nbest":5)", 5},
                                         {R"(,"nbest":100)", 100},
                                         {R"(,"nbest":2147483647)", 2147483647},
                                         {R"(,"enable_timestamp":true)", 1}}) {
    WenetProtocol protocol(Units());
    const std::string text = R"({"signal":"start")" + c.fields + "}";
    const auto start = Only<StartRequest>(protocol.Read(Text(text)));
    EXPECT_EQ(start.encoding, SampleEncoding::kPcm16);
    EXPECT_EQ(start.options.values.stream.sample_rate_hz, 0);
    EXPECT_EQ(start.max_alternatives, c.nbest) << text;
    EXPECT_FALSE(start.options.Has("search")) << text;
    EXPECT_EQ(start.options.values.stream.endpoints.enabled,
              c.fields.find("continuous_decoding") != std::string::npos)
        << text;
    EXPECT_FALSE(start.options.Has("beam_size"))
        << text;  // what a server has not, is less and no error
  }
}

// Two samples. WeNet's server, too, divides them by 32768.
TEST(WenetProtocol, Samples) {
  WenetProtocol protocol(Units());
  protocol.Read(Text(kStart));
  EXPECT_EQ(Only<AudioRequest>(protocol.Read(Binary(Pcm16({16384, -32768})))).samples,
            (std::vector<float>{0.5F, -1.0F}));
}

TEST(WenetProtocol, MistakesGetAFailedMessage) {
  struct Case {
    std::vector<ClientMessage> before;
    ClientMessage message;
    std::string expected;
  };
  const std::string deep = std::string(30000, '[');
  const std::string large(kMaxControlBytes + 1, ' ');
  const std::vector<Case> cases = {
      {{}, Binary("xx"), "error unsupported_order"},
      {{}, Text(kEnd), "error unsupported_order"},
      {{}, Text("start"), "error bad_json"},
      {{}, Text(R"({"signal":1})"), "error bad_message"},
      {{}, Text(R"({"signal":"begin"})"), "error bad_message"},
      {{}, Text(R"({"signal":"start","nbest":0})"), "error bad_option"},
      {{}, Text(R"({"signal":"start","nbest":-1})"), "error bad_option"},
      {{}, Text(R"({"signal":"start","nbest":2147483648})"), "error bad_option"},
      {{}, Text(R"({"signal":"start","nbest":1.0})"), "error bad_option"},
      {{}, Text(R"({"signal":"start","nbest":"1"})"), "error bad_option"},
      {{}, Text(R"({"signal":"start","nbest":true})"), "error bad_option"},
      {{}, Text(R"({"signal":"start","nbest":null})"), "error bad_option"},
      {{}, Text(R"({"signal":"start","continuous_decoding":0})"), "error bad_option"},
      {{}, Text(R"({"signal":"start","continuous_decoding":"no"})"), "error bad_option"},
      {{}, Text(deep), "error bad_json"},
      {{}, Text(large), "error message_too_large"},
      {{Text(kStart)}, Text(kStart), "error unsupported_order"},
      {{Text(kStart), Binary("xxx")}, Text(kStart), "error unsupported_order"},
      {{Text(kStart)}, Text("{"), "error bad_json"},
      {{Text(kStart)}, Text("not audio"), "error bad_json"},
      {{Text(kStart)}, Text(R"({"nbest":1})"), "error bad_message"},
      {{Text(kStart)}, Text(R"({"signal":"pause"})"), "error bad_message"},
      {{Text(kStart)}, Text(R"(["end"])"), "error bad_json"}};
  for (const Case& c : cases) {
    WenetProtocol protocol(Units());
    for (const ClientMessage& message : c.before) protocol.Read(message);
    const std::vector<ClientRequest> requests = protocol.Read(c.message);
    ASSERT_EQ(Shown(requests), c.expected) << c.message.bytes.substr(0, 100);
    const json failed = OnlyMessage(protocol.OnError(Only<ProtocolError>(requests)));
    EXPECT_EQ(failed["status"], "failed");
    EXPECT_EQ(failed["message"].get<std::string>().rfind(c.expected.substr(6) + ": ", 0), 0U)
        << failed;
    EXPECT_EQ(failed.size(), 2U);
    ExpectConversation(&protocol, {{Text(kStart), ""}, {Binary("xx"), ""}, {Text(kEnd), ""}});
  }
}

// Bytes are joined across messages; half a sample at the end is ignored.
TEST(WenetProtocol, OddBytesAtTheEndAreLeftOut) {
  WenetProtocol protocol(Units());
  ExpectConversation(
      &protocol, {{Text(kStart), "start"}, {Binary("abcde"), "audio 2"}, {Text(kEnd), "finish"}});
}

TEST(WenetProtocol, NothingIsReadAfterTheEnd) {
  WenetProtocol protocol(Units());
  ExpectConversation(&protocol, {{Text(kStart), "start"},
                                 {Text(kEnd), "finish"},
                                 {Text(kEnd), ""},
                                 {Text("garbage"), ""},
                                 {Binary("xx"), ""}});
}

TEST(WenetProtocol, FailedStream) {
  WenetProtocol protocol(Units());
  protocol.Read(Text(kStart));
  LiveUpdate failed;
  failed.is_final = true;
  failed.error = "broken \xFF";
  const json message = OnlyMessage(protocol.OnUpdate(failed));
  EXPECT_EQ(message["status"], "failed");
  EXPECT_EQ(message["message"], R"(stream_failed: broken \xff)");
}

// The list is JSON text in a string of the JSON message; both must be valid.
TEST(WenetProtocol, TextThatIsNotUtf8) {
  WenetProtocol protocol(Units());
  protocol.Read(Text(kStart));
  LiveUpdate update;
  update.stable_text = "a\xE5\xAD";
  update.tentative_text = "\"\\";
  const json partial = OnlyMessage(protocol.OnUpdate(update));
  EXPECT_EQ(json::parse(partial["nbest"].get<std::string>())[0]["sentence"], "a\uFFFD\"\\");
}

}  // namespace
}  // namespace runnel::server
