// Messages of a client in Runnel's protocol, and the requests that they make.
#include "tools/server/dialects/runnel_protocol.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hotwords.h"
#include "tests/support/opus_packets.h"
#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

using runnel::testing::Chirp;
using runnel::testing::OpusPackets;
using testing::Binary;
using testing::ExpectConversation;
using testing::Float32;
using testing::Only;
using testing::OnlyMessage;
using testing::Pcm16;
using testing::Shown;
using testing::Text;
using testing::Units;

constexpr const char* kStart = R"({"type":"start","version":1})";

TEST(RunnelProtocol, Conversation) {
  RunnelProtocol protocol(Units());
  EXPECT_STREQ(protocol.name(), "runnel");
  const std::string three_samples = Pcm16({1, 2, 3});
  ExpectConversation(
      &protocol, {{Text(R"({"type":"ping"})"), R"(reply {"type":"pong"})"},
                  {Text(kStart), "start"},
                  {Binary(three_samples), "audio 3"},
                  {Text(R"({"type":"ping","id":"é\n7"})"), R"(reply {"type":"pong","id":"é\n7"})"},
                  {Binary(""), "audio 0"},
                  {Binary(three_samples.substr(0, 3)), "audio 1"},
                  {Binary(three_samples.substr(3)), "audio 2"},
                  {Text(R"({"type":"finish"})"), "finish"},
                  {Text(R"({"type":"ping","id":null})"), R"(reply {"type":"pong","id":null})"},
                  {Text(R"({"type":"cancel"})"), "cancel"},
                  {Text(R"({"type":"ping"})"), ""}});
}

TEST(RunnelProtocol, StartWithoutOptionsLeavesThemToTheModel) {
  RunnelProtocol protocol(Units());
  const auto start = Only<StartRequest>(protocol.Read(Text(kStart)));
  EXPECT_EQ(start.options.values.stream.sample_rate_hz, 0);
  EXPECT_EQ(start.options.values.stream.chunk_size, StreamOptions::kModelDefault);
  EXPECT_EQ(start.options.values.stream.left_context, StreamOptions::kModelDefault);
  EXPECT_EQ(start.options.values.stream.search.method, SearchMethod::kGreedy);
  EXPECT_EQ(start.encoding, SampleEncoding::kPcm16);
  EXPECT_EQ(start.options.values.stream.nbest, 1);
  EXPECT_FALSE(start.wants_snapshots);
  EXPECT_TRUE(start.wants_tokens);
  EXPECT_FALSE(start.options.Has("beam_size"));
  EXPECT_FALSE(start.options.Has("search"));
  EXPECT_FALSE(start.options.Has("hotwords"));
}

TEST(RunnelProtocol, StartWithEveryOption) {
  RunnelProtocol protocol(Units());
  const auto start = Only<StartRequest>(protocol.Read(
      Text(R"({"type":"start","version":1,"sample_rate":48000,"encoding":"float32","chunk_size":4,
               "left_context":-1,"search":"beam","beam_size":5,"nbest":3,"resume":true,
               "tokens":false})")));
  EXPECT_EQ(start.options.values.stream.sample_rate_hz, 48000);
  EXPECT_EQ(start.options.values.stream.chunk_size, 4);
  EXPECT_EQ(start.options.values.stream.left_context, StreamOptions::kUnlimited);
  EXPECT_EQ(start.options.values.stream.search.method, SearchMethod::kPrefixBeam);
  EXPECT_EQ(start.options.values.stream.search.beam_size, 5);
  EXPECT_TRUE(start.options.Has("beam_size"));
  EXPECT_TRUE(start.options.Has("search"));
  EXPECT_EQ(start.encoding, SampleEncoding::kFloat32);
  EXPECT_EQ(start.options.values.stream.nbest, 3);
  EXPECT_TRUE(start.wants_snapshots);
  EXPECT_FALSE(start.wants_tokens);
  const auto audio = Only<AudioRequest>(protocol.Read(Binary(Float32({0.5F, -1.0F}))));
  EXPECT_EQ(audio.samples, (std::vector<float>{0.5F, -1.0F}));
}

TEST(RunnelProtocol, Hotwords) {
  RunnelProtocol protocol(Units());
  const auto start = Only<StartRequest>(protocol.Read(
      Text(R"({"type":"start","version":1,"hotwords":"two :3\nzero two","hotword_score":2,
               "early_text":4,"endpointing":{"skip_silence":true}})")));
  EXPECT_FALSE(start.options.Has("search"));
  EXPECT_TRUE(start.options.Has("hotwords"));
  ASSERT_NE(start.options.values.stream.search.hotwords, nullptr);
  EXPECT_EQ(start.options.values.stream.search.hotwords->text(), "two :3\nzero two :2\n");
  EXPECT_EQ(start.options.values.stream.early_text.interval, 4);
  EXPECT_TRUE(start.options.values.stream.endpoints.skip_silence);
  const auto error = [](const std::string& fields) {
    RunnelProtocol other(Units());
    return Only<ProtocolError>(other.Read(Text(R"({"type":"start","version":1,)" + fields + "}")))
        .message;
  };
  EXPECT_NE(error(R"("hotwords":"two\nxyzzy")").find("hotwords:2: "), std::string::npos);
  EXPECT_NE(error(R"("hotwords":"")").find("lists no phrase"), std::string::npos);
  EXPECT_NE(error("\"hotwords\":\"" + std::string(70000, 'a') + "\"").find("at most 65536"),
            std::string::npos);
}

// Invalid values of every field: the error names the field.
TEST(RunnelProtocol, OptionsOutOfRange) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"sample_rate", {"999", "2147483648", "-1", "16000.5", "\"16000\"", "null", "1e300"}},
      {"encoding", {"\"pcm8\"", "\"Opus\"", "16", "null", "\"\"", "[]"}},
      {"chunk_size", {"0", "-3", "1000001", "1.5", "\"16\"", "{}", "18446744073709551615"}},
      {"left_context", {"-3", "1000001", "true"}},
      {"search", {"\"fast\"", "1"}},
      {"beam_size", {"0", "2147483648", "-1"}},
      {"nbest", {"0", "2147483648", "\"1\""}},
      {"resume", {"1", "\"true\"", "null"}},
      {"tokens", {"0", "[]"}},
      {"hotwords", {"1", "[]", "null"}},
      {"hotword_score", {"\"1\"", "101", "-101"}},
      {"early_text", {"-1", "1000001", "0.5"}},
      {"early_text_interval", {"-1", "1000001", "0.5"}},
      {"sample_rate_hz", {"999", "768001", "\"16000\""}},
      {"colour", {"1"}},
      {"wo\\nrd", {"1"}}};
  for (const auto& [field, values] : cases) {
    for (const std::string& value : values) {
      RunnelProtocol protocol(Units());
      const std::string text = R"({"type":"start","version":1,")" + field + "\":" + value + "}";
      const auto error = Only<ProtocolError>(protocol.Read(Text(text)));
      EXPECT_EQ(error.code, ErrorCode::kBadOption) << text;
      EXPECT_NE(error.message.find(field), std::string::npos) << error.message;
      EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
    }
  }
}

TEST(RunnelProtocol, BadMessagesEndTheConversation) {
  struct Case {
    std::string text;
    std::string expected;
  };
  const std::string deep = "{\"type\":" + std::string(20000, '[') + std::string(20000, ']') + "}";
  const std::string large =
      R"({"type":"ping","id":")" + std::string(kMaxControlBytes, 'x') + R"("})";
  const std::vector<Case> cases = {
      {"", "error bad_json"},
      {"{", "error bad_json"},
      {"[]", "error bad_json"},
      {"null", "error bad_json"},
      {"\"start\"", "error bad_json"},
      {"{\"type\":\"start\"}{}", "error bad_json"},
      {R"({"type":"start","type":"start"})", "error bad_json"},
      {"{\"type\":\"\xFF\"}", "error bad_json"},
      {R"({"type":"\ud800"})", "error bad_json"},
      {std::string("{\"type\":\"start\0\"}", 17), "error bad_json"},
      {R"({"type":1e999})", "error bad_json"},
      {deep, "error bad_json"},
      {large, "error message_too_large"},
      {"{}", "error bad_message"},
      {R"({"type":7})", "error bad_message"},
      {R"({"type":"stop"})", "error bad_message"},
      {R"({"type":""})", "error bad_message"},
      {R"({"type":"start"})", "error unknown_version"},
      {R"({"type":"start","version":2})", "error unknown_version"},
      {R"({"type":"start","version":"1"})", "error unknown_version"},
      {R"({"type":"resume","token":"a"})", "error unknown_version"},
      {R"({"type":"resume","version":1})", "error bad_option"},
      {R"({"type":"resume","version":1,"token":""})", "error bad_option"},
      {R"({"type":"resume","version":1,"token":7})", "error bad_option"},
      {R"({"type":"resume","version":1,"token":"a","chunk_size":4})", "error bad_option"},
      {R"({"type":"ping","id":{}})", "error bad_option"},
      {R"({"type":"ping","name":1})", "error bad_option"},
      {R"({"type":"finish","now":true})", "error bad_option"},
      {R"({"type":"finish"})", "error unsupported_order"}};
  for (const Case& c : cases) {
    RunnelProtocol protocol(Units());
    ExpectConversation(&protocol, {{Text(c.text), c.expected},
                                   {Text(kStart), ""},
                                   {Binary("xx"), ""},
                                   {Text(R"({"type":"finish"})"), ""}});
  }
}

TEST(RunnelProtocol, OrderOfMessages) {
  const std::string finish = R"({"type":"finish"})";
  const std::string resume = R"({"type":"resume","version":1,"token":"a"})";
  struct Case {
    std::vector<ClientMessage> before;
    ClientMessage message;
  };
  const std::vector<Case> cases = {
      {{}, Binary("xx")},
      {{Text(kStart)}, Text(kStart)},
      {{Text(kStart)}, Text(resume)},
      {{Text(resume)}, Text(resume)},
      {{Text(resume)}, Text(kStart)},
      {{Text(kStart), Text(finish)}, Text(finish)},
      {{Text(kStart), Text(finish)}, Text(kStart)},
      {{Text(kStart), Text(finish)}, Binary("xx")},
  };
  for (const Case& c : cases) {
    RunnelProtocol protocol(Units());
    for (const ClientMessage& message : c.before) protocol.Read(message);
    EXPECT_EQ(Shown(protocol.Read(c.message)), "error unsupported_order") << c.message.bytes;
  }
}

TEST(RunnelProtocol, AudioThatEndsWithinASample) {
  RunnelProtocol protocol(Units());
  ExpectConversation(&protocol, {{Text(kStart), "start"},
                                 {Binary("abc"), "audio 1"},
                                 {Text(R"({"type":"finish"})"), "error odd_bytes"}});
}

// What a session tells its client when the stream has begun.
SessionInfo Ready(int rate_hz, int64_t num_samples = -1) {
  SessionInfo info;
  info.options.sample_rate_hz = rate_hz;
  info.num_samples = num_samples;
  return info;
}

TEST(RunnelProtocol, EveryEncodingIsAnnounced) {
  for (const SampleEncoding encoding : kSampleEncodings) {
    const std::string field = R"(,"encoding":")" + std::string(NameOf(encoding)) + R"("})";
    RunnelProtocol protocol(Units());
    const auto start =
        Only<StartRequest>(protocol.Read(Text(R"({"type":"start","version":1)" + field)));
    EXPECT_EQ(start.encoding, encoding);
    EXPECT_EQ(OnlyMessage(protocol.OnReady(Ready(8000)))["encoding"], NameOf(encoding));
    RunnelProtocol resumed(Units());
    Only<ResumeRequest>(resumed.Read(Text(R"({"type":"resume","version":1,"token":"a")" + field)));
    EXPECT_EQ(OnlyMessage(resumed.OnReady(Ready(8000, 7)))["encoding"], NameOf(encoding));
  }
}

TEST(RunnelProtocol, ReadyAndResumedStateTheSearch) {
  for (const int64_t num_samples : {int64_t{-1}, int64_t{7}}) {
    SessionInfo info = Ready(8000, num_samples);
    info.options.search.method = SearchMethod::kModifiedBeam;
    info.options.search.head = Head::kTransducer;
    info.options.search.rescoring.enabled = true;
    info.options.language = "de-DE";
    RunnelProtocol protocol(Units());
    const auto message = OnlyMessage(protocol.OnReady(info));
    EXPECT_EQ(message["search"], "modified_beam");
    EXPECT_EQ(message["head"], "transducer");
    EXPECT_EQ(message["rescoring"], true);
    EXPECT_EQ(message["language"], "de-DE");
  }
}

TEST(RunnelProtocol, ByteOfG711) {
  for (const auto& [name, silence] : {std::pair("mulaw", 0.0F), std::pair("alaw", 1 / 4096.0F)}) {
    RunnelProtocol protocol(Units());
    protocol.Read(Text(R"({"type":"start","version":1,"sample_rate":8000,"encoding":")" +
                       std::string(name) + R"("})"));
    const std::string bytes = name == std::string("mulaw") ? "\xFF\xFF" : "\xD5\xD5";
    EXPECT_EQ(Only<AudioRequest>(protocol.Read(Binary(bytes))).samples,
              std::vector<float>(2, silence));
    EXPECT_EQ(Shown(protocol.Read(Text(R"({"type":"finish"})"))), "finish");
  }
}

constexpr const char* kStartOpus = R"({"type":"start","version":1,"encoding":"opus"})";

TEST(RunnelProtocol, OpusPackets) {
  const std::vector<std::string> packets = OpusPackets(Chirp(16000, 16000), 16000, 1, 20);
  RunnelProtocol protocol(Units());
  EXPECT_EQ(
      Only<StartRequest>(protocol.Read(Text(kStartOpus))).options.values.stream.sample_rate_hz, 0);
  protocol.OnReady(Ready(24000));
  ExpectConversation(&protocol, {{Binary(packets[0]), "audio 480"},
                                 {Binary(packets[1]), "audio 480"},
                                 {Binary(""), "audio 480"},
                                 {Binary(packets[3]), "audio 480"},
                                 {Text(R"({"type":"finish"})"), "finish"}});
}

TEST(RunnelProtocol, DamagedOpusPacketsEndTheConversation) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(kStartOpus));
  protocol.OnReady(Ready(16000));
  const std::string good = OpusPackets(Chirp(320, 16000), 16000, 1, 20)[0];
  ExpectConversation(&protocol, {{Binary(good), "audio 320"},
                                 {Binary("\x7B"), "error bad_message"},
                                 {Binary(good), ""},
                                 {Text(R"({"type":"finish"})"), ""}});
}

TEST(RunnelProtocol, RatesOfOpusStreams) {
  const auto start_at = [](int rate_hz) {
    RunnelProtocol protocol(Units());
    return protocol.Read(Text(R"({"type":"start","version":1,"encoding":"opus","sample_rate":)" +
                              std::to_string(rate_hz) + "}"));
  };
  for (const int rate_hz : kOpusRatesHz) {
    EXPECT_EQ(Only<StartRequest>(start_at(rate_hz)).options.values.stream.sample_rate_hz, rate_hz);
  }
  for (const int rate_hz : {1000, 11025, 22050, 44100, 96000}) {
    const auto error = Only<ProtocolError>(start_at(rate_hz));
    EXPECT_EQ(error.code, ErrorCode::kBadOption);
    EXPECT_EQ(error.message, "start: sample_rate is " + std::to_string(rate_hz) +
                                 ", expected 8000, 12000, 16000, 24000 or 48000 with the "
                                 "encoding opus");
  }
}

TEST(RunnelProtocol, ResumedWithOpus) {
  const std::string resume = R"({"type":"resume","version":1,"token":"a","encoding":"opus"})";
  const std::string packet = OpusPackets(Chirp(320, 16000), 16000, 1, 20)[0];
  RunnelProtocol protocol(Units());
  ExpectConversation(&protocol, {{Text(resume), "resume a"}});
  protocol.OnReady(Ready(48000, 1234));
  ExpectConversation(&protocol, {{Binary(packet), "audio 960"}});
  // The rate of the stream is not known before.
  RunnelProtocol early(Units());
  ExpectConversation(&early,
                     {{Text(resume), "resume a"}, {Binary(packet), "error unsupported_order"}});
  // The stream was started with another encoding.
  RunnelProtocol wrong_rate(Units());
  ExpectConversation(&wrong_rate, {{Text(resume), "resume a"}});
  wrong_rate.OnReady(Ready(11025, 1234));
  ExpectConversation(&wrong_rate, {{Binary(packet), "error bad_option"}});
}

TEST(RunnelProtocol, SamplesThatAreNoNumbers) {
  for (const float bad : {NAN, INFINITY, -INFINITY, 1000.0F}) {
    RunnelProtocol protocol(Units());
    protocol.Read(Text(R"({"type":"start","version":1,"encoding":"float32"})"));
    protocol.Read(Binary(Float32({1, 1})));
    const auto error = Only<ProtocolError>(protocol.Read(Binary(Float32({0.5F, bad, 0.5F}))));
    EXPECT_EQ(error.code, ErrorCode::kBadMessage);
    EXPECT_NE(error.message.find("sample 3 is"), std::string::npos) << error.message;
  }
}

}  // namespace
}  // namespace runnel::server
