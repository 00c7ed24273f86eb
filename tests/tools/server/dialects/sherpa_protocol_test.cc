#include "tools/server/dialects/sherpa_protocol.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tests/tools/server/dialects/protocol_conversation.h"

namespace runnel::server {
namespace {

using nlohmann::json;
using testing::Binary;
using testing::EndedTwo;
using testing::ExpectConversation;
using testing::FinalTwoZero;
using testing::Float32;
using testing::Only;
using testing::OnlyMessage;
using testing::RunningZe;
using testing::Shown;
using testing::Text;
using testing::TwoZero;
using testing::Units;

TEST(SherpaProtocol, Conversation) {
  SherpaProtocol protocol(Units());
  EXPECT_STREQ(protocol.name(), "sherpa");
  const std::string samples = Float32({0.5F, -0.25F});
  ExpectConversation(&protocol, {{Binary(samples.substr(0, 5)), "start; audio 1"},
                                 {Binary(samples.substr(5)), "audio 1"},
                                 {Binary(""), "audio 0"},
                                 {Text("Done"), "finish"},
                                 {Text("Done"), ""},
                                 {Binary(samples), ""},
                                 {Text("garbage"), ""}});
  EXPECT_TRUE(protocol.OnReady({}).empty());
}

TEST(SherpaProtocol, StartsWithTheModelsOptions) {
  SherpaProtocol protocol(Units());
  const std::vector<ClientRequest> requests = protocol.Read(Binary(Float32({0.5F, -0.25F})));
  ASSERT_EQ(requests.size(), 2U);
  const auto start = std::get<StartRequest>(requests[0]);
  EXPECT_EQ(start.encoding, SampleEncoding::kFloat32);
  EXPECT_EQ(start.options.values.stream.sample_rate_hz, 0);
  EXPECT_EQ(start.options.values.stream.chunk_size, StreamOptions::kModelDefault);
  EXPECT_FALSE(start.wants_snapshots);
  EXPECT_EQ(std::get<AudioRequest>(requests[1]).samples, (std::vector<float>{0.5F, -0.25F}));
}

TEST(SherpaProtocol, NoAudioAtAll) {
  SherpaProtocol protocol(Units());
  EXPECT_EQ(Shown(protocol.Read(Text("Done"))), "start; finish");
}

TEST(SherpaProtocol, Results) {
  SherpaProtocol protocol(Units());
  protocol.Read(Binary(Float32({0})));
  json expected = {{"text", "two zero"},
                   {"tokens", {" two", " ze", "ro"}},
                   {"timestamps", {0.04, 0.32, 0.4}},
                   {"segment", 0},
                   {"start_time", 0.0},
                   {"is_final", false},
                   {"is_eof", false}};
  EXPECT_EQ(OnlyMessage(protocol.OnUpdate(TwoZero())), expected);

  LiveUpdate next;  // text and tokens are always the whole ones
  next.stable_size_before = 3;
  next.stable_tokens_before = 1;
  next.stable_text = " zero";
  next.tokens = {testing::TokenAt(2, 320, 360), testing::TokenAt(3, 400, 480)};
  next.num_stable_tokens = 2;
  EXPECT_EQ(OnlyMessage(protocol.OnUpdate(next)), expected);

  LiveUpdate last = FinalTwoZero();
  last.stable_size_before = 8;
  last.stable_tokens_before = 3;
  last.stable_text.clear();
  last.tokens.clear();
  last.num_stable_tokens = 0;
  const std::vector<std::string> texts = protocol.OnUpdate(last);
  ASSERT_EQ(texts.size(), 2U);
  expected["is_final"] = true;
  expected["is_eof"] = true;
  EXPECT_EQ(json::parse(texts[0]), expected);
  EXPECT_EQ(texts[1], "Done!");
}

TEST(SherpaProtocol, TokensShowSpecialTokensAsTheTextDoes) {
  SherpaProtocol protocol(testing::UnitsWithTag());
  protocol.Read(Binary(Float32({0})));
  const TokenTable shown = testing::UnitsWithTag().WithSpecialTokens();
  SessionInfo info;
  info.text_tokens = &shown;
  EXPECT_TRUE(protocol.OnReady(info).empty());
  const json message = OnlyMessage(protocol.OnUpdate(testing::RunningTag()));
  EXPECT_EQ(message["text"], "<en> ze");
  EXPECT_EQ(message["tokens"], json({" <en> ", " ze"}));
}

TEST(SherpaProtocol, Segments) {
  SherpaProtocol protocol(Units());
  const auto requests = protocol.Read(Binary(Float32({0})));
  EXPECT_TRUE(std::get<StartRequest>(requests[0]).expects_endpointing);
  EXPECT_FALSE(std::get<StartRequest>(requests[0]).options.Has("search"));
  LiveUpdate next = RunningZe(2);
  next.utterances = {EndedTwo(0), EndedTwo(1)};
  protocol.OnUpdate(TwoZero());
  std::vector<std::string> texts = protocol.OnUpdate(next);
  ASSERT_EQ(texts.size(), 3U);
  json expected = {{"text", "two"},  {"tokens", {" two"}}, {"timestamps", {0.04}},
                   {"segment", 0},   {"start_time", 0.0},  {"is_final", true},
                   {"is_eof", false}};
  EXPECT_EQ(json::parse(texts[0]), expected);
  expected["segment"] = 1;  // times count from where the segment before ended, 0.6 s
  expected["start_time"] = 0.6;
  expected["timestamps"] = {0.44};
  EXPECT_EQ(json::parse(texts[1]), expected);
  expected = {{"text", "ze"},      {"tokens", {" ze"}}, {"timestamps", {0.48}}, {"segment", 2},
              {"start_time", 1.6}, {"is_final", false}, {"is_eof", false}};
  EXPECT_EQ(json::parse(texts[2]), expected);

  next = RunningZe(3);
  next.stable_text.clear();
  next.tokens.clear();
  next.num_stable_tokens = 0;
  next.utterances = {EndedTwo(2)};
  EXPECT_EQ(OnlyMessage(protocol.OnUpdate(next))["segment"], 2);  // nothing is said after it yet

  LiveUpdate last;
  last.is_final = true;
  last.utterances = {EndedTwo(3), EndedTwo(4)};
  last.utterances[1].nbest = {Hypothesis()};
  texts = protocol.OnUpdate(last);
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(json::parse(texts[0])["is_eof"], false);
  expected = {{"text", ""},    {"tokens", json::array()}, {"timestamps", json::array()},
              {"segment", 4},  {"start_time", 3.6},       {"is_final", true},
              {"is_eof", true}};
  EXPECT_EQ(json::parse(texts[1]), expected);
  EXPECT_EQ(texts[2], "Done!");
}

TEST(SherpaProtocol, AnErrorAfterASegment) {
  SherpaProtocol protocol(Units());
  protocol.Read(Binary(Float32({0})));
  protocol.OnUpdate(TwoZero());
  LiveUpdate failed;
  failed.is_final = true;
  failed.error = "not finite";
  failed.utterances = {EndedTwo(0)};
  const std::vector<std::string> texts = protocol.OnUpdate(failed);
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(json::parse(texts[0])["is_final"], true);
  EXPECT_EQ(json::parse(texts[1])["segment"], 1);
  EXPECT_EQ(json::parse(texts[1])["text"], "");
  EXPECT_EQ(json::parse(texts[1])["error"]["code"], "stream_failed");
}

TEST(SherpaProtocol, Mistakes) {
  const std::string samples = Float32({0.5F});
  struct Case {
    std::vector<ClientMessage> before;
    ClientMessage message;
  };
  const std::string not_a_number = Float32({NAN});
  const std::string wrong_scale = Float32({12345.0F});
  for (const Case& c : std::vector<Case>{{{}, Text("done")},
                                         {{}, Text("")},
                                         {{Binary(samples)}, Text("Done ")},
                                         {{Binary(samples)}, Text(R"({"type":"finish"})")},
                                         {{}, Binary(not_a_number)},
                                         {{Binary(samples)}, Binary(not_a_number)},
                                         {{Binary(samples)}, Binary(wrong_scale)}}) {
    SherpaProtocol protocol(Units());
    for (const ClientMessage& message : c.before) protocol.Read(message);
    const std::vector<ClientRequest> requests = protocol.Read(c.message);
    ASSERT_EQ(Shown(requests), "error bad_message") << c.message.bytes;
    const json message = OnlyMessage(protocol.OnError(Only<ProtocolError>(requests)));
    EXPECT_EQ(message["error"]["code"], "bad_message");
    EXPECT_EQ(message["text"], "");
    EXPECT_EQ(message["is_final"], false);
    ExpectConversation(&protocol, {{Binary(samples), ""}, {Text("Done"), ""}});
  }
}

TEST(SherpaProtocol, AnErrorKeepsTheTextSoFar) {
  SherpaProtocol protocol(Units());
  protocol.Read(Binary(Float32({0})));
  protocol.OnUpdate(TwoZero());
  LiveUpdate failed;
  failed.is_final = true;
  failed.error = "not finite";
  const json message = OnlyMessage(protocol.OnUpdate(failed));
  EXPECT_EQ(message["text"], "two zero");
  EXPECT_EQ(message["error"]["code"], "stream_failed");
}

TEST(SherpaProtocol, BytesLeftOverAtTheEndAreLeftOut) {
  SherpaProtocol protocol(Units());
  ExpectConversation(&protocol, {{Binary(std::string_view("\0\0\0\0\0\0\0", 7)), "start; audio 1"},
                                 {Text("Done"), "finish"}});
}

TEST(SherpaProtocol, TextThatIsNotUtf8) {
  SherpaProtocol protocol(Units());
  LiveUpdate update;
  update.stable_text = "\xE5";
  update.tentative_text = "\xAD\x97";
  EXPECT_EQ(OnlyMessage(protocol.OnUpdate(update))["text"], "字");
}

}  // namespace
}  // namespace runnel::server
