#include "tools/server/dialects/vosk_protocol.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/hotwords.h"
#include "tests/support/ogg_file.h"
#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/dialects/protocol_registry.h"

namespace runnel::server {
namespace {

using nlohmann::json;
using testing::Binary;
using testing::EndedTwo;
using testing::ExpectConversation;
using testing::FinalTwoZero;
using testing::Only;
using testing::Pcm16;
using testing::RunningZe;
using testing::Shown;
using testing::Text;
using testing::TwoZero;
using testing::Units;

constexpr char kEof[] = R"({"eof" : 1})";
constexpr char kReset[] = R"({"reset" : 1})";
const std::string kNoText = R"(reply {"partial":""})";

// The answer to a binary message.
std::string Answer(VoskProtocol* protocol, const std::string& bytes = "ab") {
  const std::vector<ClientRequest> requests = protocol->Read(Binary(bytes));
  return std::get<ImmediateReply>(requests.back()).text;
}

StartRequest StartedWith(const std::string& config) {
  VoskProtocol protocol(Units());
  EXPECT_EQ(Shown(protocol.Read(Text(config))), "");
  const std::vector<ClientRequest> requests = protocol.Read(Binary("ab"));
  EXPECT_EQ(Shown(requests), "start; audio 1; " + kNoText);
  return std::get<StartRequest>(requests[0]);
}

LiveUpdate UpdateWith(std::vector<Utterance> utterances, LiveUpdate running) {
  running.utterances = std::move(utterances);
  return running;
}

LiveUpdate Nothing(int64_t utterance_index) {
  LiveUpdate update;
  update.utterance_index = utterance_index;
  return update;
}

TEST(VoskProtocol, IsChosenByPathOrSubprotocol) {
  struct Case {
    std::string path;
    std::vector<std::string> offered;
    std::string expected;  // the subprotocol of Vosk's protocol; "-" for another protocol
  };
  for (const Case& c : std::vector<Case>{{"/vosk", {}, ""},
                                         {"/vosk", {"x"}, ""},
                                         {"/", {"ws"}, "ws"},
                                         {"/any", {"x", "ws"}, "ws"},
                                         {"/", {}, "-"},
                                         {"/voskx", {"x"}, "-"}}) {
    Opening opening;
    opening.path = c.path;
    opening.subprotocols = c.offered;
    const auto protocol = ChooseProtocol(opening, Units());
    EXPECT_EQ(protocol == nullptr ? "-" : protocol->subprotocol(), c.expected) << c.path;
  }
}

TEST(VoskProtocol, EveryBinaryMessageHasOneAnswer) {
  VoskProtocol protocol(Units());
  ExpectConversation(&protocol, {{Text(R"({"config" : {"sample_rate" : 16000}})"), ""},
                                 {Binary(""), kNoText},
                                 {Binary("abc"), "start; audio 1; " + kNoText},
                                 {Binary(""), kNoText},
                                 {Binary("d"), "audio 1; " + kNoText},
                                 {Text(R"({"config":{"sample_rate":8000}})"), ""},
                                 {Text(kReset), "flush"},
                                 {Binary("ab"), "audio 1; " + kNoText},
                                 {Text(kEof), "finish"},
                                 {Binary("ab"), ""},
                                 {Text(kEof), ""}});
}

TEST(VoskProtocol, WithoutAudio) {
  VoskProtocol protocol(Units());
  ExpectConversation(
      &protocol, {{Text(kReset), R"(reply {"text":""})"}, {Text(R"({"eof":1})"), "start; finish"}});
  LiveUpdate last;
  last.is_final = true;
  last.utterances.resize(1);
  last.utterances[0].nbest.resize(1);
  EXPECT_EQ(protocol.OnUpdate(last), std::vector<std::string>{R"({"text":""})"});
}

TEST(VoskProtocol, Options) {
  const StartRequest plain = StartedWith(R"({"config":{}})");
  EXPECT_EQ(plain.options.values.stream.sample_rate_hz, 8000);
  EXPECT_TRUE(plain.options.values.stream.endpoints.enabled);
  EXPECT_EQ(plain.max_alternatives, 1);
  EXPECT_FALSE(plain.options.Has("hotwords"));
  EXPECT_EQ(StartedWith(R"({"config":{"sample_rate":44100.0,"model":"x","other":[]}})")
                .options.values.stream.sample_rate_hz,
            44100);
  for (const char* rate : {R"("16000")", R"(" 16000\n")", R"("16e3")", "15999.6"}) {
    const std::string config = R"({"config":{"sample_rate":)" + std::string(rate) + "}}";
    EXPECT_EQ(StartedWith(config).options.values.stream.sample_rate_hz, 16000) << rate;
  }
  for (const char* count : {"2", "2.0", R"("2")", R"(" 2 ")"}) {
    const std::string config = R"({"config":{"max_alternatives":)" + std::string(count) + "}}";
    EXPECT_EQ(StartedWith(config).max_alternatives, 2) << count;
  }
  EXPECT_EQ(StartedWith(R"({"config":{"words":"True","max_alternatives":true}})").max_alternatives,
            1);
  EXPECT_EQ(StartedWith(R"({"config":{"phrase_list":null}})").options.values.stream.search.hotwords,
            nullptr);
  const StartRequest many = StartedWith(R"({"config":{"max_alternatives":12}})");
  EXPECT_EQ(many.max_alternatives, 12);
  const StartRequest phrases =
      StartedWith(R"({"config":{"phrase_list":["two zero","sixteen","[unk]","two"]}})");
  EXPECT_EQ(phrases.options.values.stream.search.hotwords->text(), "two zero :0.75\ntwo :0.75\n");
  EXPECT_TRUE(phrases.options.Has("hotwords"));
}

TEST(VoskProtocol, AWavHeaderStatesTheRate) {
  const std::string header(
      "RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x80\x3E\0\0\0\x7D\0\0\2\0\x10\0"
      "data\4\0\0\0",
      44);
  VoskProtocol protocol(Units());
  EXPECT_EQ(Shown(protocol.Read(Binary(header.substr(0, 20)))), kNoText);
  const auto requests = protocol.Read(Binary(header.substr(20) + "abcd" + std::string(100, '\0')));
  EXPECT_EQ(Shown(requests), "start; audio 2; " + kNoText);
  EXPECT_EQ(std::get<StartRequest>(requests[0]).options.values.stream.sample_rate_hz, 16000);
}

// A message that holds 30 s in packets of one byte, which are 60 ms of silence each.
TEST(VoskProtocol, AMessageOfManyPartsHasOneAnswer) {
  runnel::testing::OggStream stream;
  stream.packets.assign(500, "\x18");
  stream.rate_hz = 48000;
  stream.packet_granules = 2880;
  VoskProtocol protocol(Units());
  const std::string message = runnel::testing::Ogg(stream);
  std::string_view rest = message;
  std::vector<ClientRequest> requests = protocol.Read(Binary(message));
  ASSERT_EQ(requests.size(), 3U);
  size_t num_samples = std::get<AudioRequest>(requests[1]).samples.size();
  while (std::holds_alternative<MoreRequest>(requests.back())) {
    rest.remove_prefix(std::get<MoreRequest>(requests.back()).num_read);
    requests = protocol.ReadMore(rest);
    for (const ClientRequest& request : requests) {
      const auto* const audio = std::get_if<AudioRequest>(&request);
      if (audio != nullptr) num_samples += audio->samples.size();
    }
  }
  EXPECT_EQ(Shown({requests.back()}), kNoText);
  EXPECT_EQ(num_samples, 500U * 2880 - 312);
}

TEST(VoskProtocol, PartialsAndResults) {
  VoskProtocol protocol(Units());
  EXPECT_EQ(Answer(&protocol), R"({"partial":""})");
  EXPECT_TRUE(protocol.OnUpdate(TwoZero()).empty());
  EXPECT_EQ(Answer(&protocol), R"({"partial":"two zero"})");
  EXPECT_EQ(Answer(&protocol), R"({"partial":"two zero"})");
  EXPECT_TRUE(protocol.OnUpdate(UpdateWith({EndedTwo(0), EndedTwo(1)}, RunningZe(2))).empty());
  // All that has ended since the last answer, so that answers never fall behind.
  EXPECT_EQ(Answer(&protocol),
            R"({"result":[{"conf":0.75,"end":0.2,"start":0.04,"word":"two"},)"
            R"({"conf":0.75,"end":1.2,"start":1.04,"word":"two"}],"text":"two two"})");
  EXPECT_EQ(Answer(&protocol), R"({"partial":"ze"})");
}

// A client reads one message after eof, so that all results that it has not received are in it.
TEST(VoskProtocol, NothingIsLostAtTheEnd) {
  VoskProtocol protocol(Units());
  Answer(&protocol);
  EXPECT_TRUE(protocol.OnUpdate(UpdateWith({EndedTwo(0), EndedTwo(1)}, Nothing(2))).empty());
  ExpectConversation(&protocol, {{Text(kEof), "finish"}});
  const json last = testing::OnlyMessage(protocol.OnUpdate(FinalTwoZero()));
  EXPECT_EQ(last["text"], "two two two zero");
  EXPECT_EQ(last["result"].size(), 4U);
}

TEST(VoskProtocol, Resets) {
  Utterance flushed = EndedTwo(1);
  flushed.end = UtteranceEnd::kFinalize;
  VoskProtocol protocol(Units());
  Answer(&protocol);
  LiveUpdate update = UpdateWith({EndedTwo(0), flushed}, Nothing(2));
  update.num_empty_finalizations = 1;
  const std::vector<std::string> texts = protocol.OnUpdate(update);
  ASSERT_EQ(texts.size(), 2U);
  EXPECT_EQ(json::parse(texts[0])["text"], "two two");
  EXPECT_EQ(texts[1], R"({"text":""})");
  EXPECT_EQ(Answer(&protocol), R"({"partial":""})");
}

TEST(VoskProtocol, WordsAndAlternatives) {
  struct Case {
    std::string config;
    std::string expected;  // the answer to eof
  };
  for (
      const Case& c : std::vector<Case>{
          {R"({"words":false})", R"({"text":"two zero"})"},
          {R"({"words":0})", R"({"text":"two zero"})"},
          {R"({"words":1,"max_alternatives":2})",
           R"({"alternatives":[{"confidence":-0.5,"result":[{"end":0.2,"start":0.04,"word":"two"},)"
           R"({"end":0.48,"start":0.32,"word":"zero"}],"text":"two zero"},{"confidence":-3.0,)"
           R"("result":[{"end":0.2,"start":0.04,"word":"two"}],"text":"two"}]})"},
          {R"({"words":0,"max_alternatives":1})",
           R"({"alternatives":[{"confidence":-0.5,"text":"two zero"}]})"}}) {
    VoskProtocol protocol(Units());
    protocol.Read(Text(R"({"config":)" + c.config + "}"));
    ExpectConversation(&protocol, {{Text(kEof), "start; finish"}});
    EXPECT_EQ(protocol.OnUpdate(FinalTwoZero()), std::vector<std::string>{c.expected});
  }
}

TEST(VoskProtocol, Mistakes) {
  struct Case {
    std::string text;
    std::string code;
    std::string reason;
  };
  for (const Case& c : std::vector<Case>{
           {"hello", "bad_json", "bad_json: message: "},
           {"{}", "bad_message", "bad_message: a text message without config, eof or reset"},
           {R"({"config":7})", "bad_option", "bad_option: text: config is number"},
           {R"({"config":{"sample_rate":"16k"}})", "bad_option",
            "bad_option: text: config.sample_rate is \"16k\", expected a number from 1000"},
           {R"({"config":{"sample_rate":null}})", "bad_option",
            "bad_option: text: config.sample_rate is null, expected a number from 1000"},
           {R"({"config":{"sample_rate":true}})", "bad_option",
            "bad_option: text: config.sample_rate is true, expected a number from 1000"},
           {R"({"config":{"sample_rate":"inf"}})", "bad_option",
            "bad_option: text: config.sample_rate is \"inf\", expected a number from 1000"},
           {R"({"config":{"words":[]}})", "bad_option",
            "bad_option: text: config.words is [], expected true or false"},
           {R"({"config":{"words":{}}})", "bad_option",
            "bad_option: text: config.words is {}, expected true or false"},
           {R"({"config":{"words":"no"}})", "bad_option",
            "bad_option: text: config.words is \"no\", expected true or false"},
           {R"({"config":{"max_alternatives":null}})", "bad_option",
            "bad_option: text: config.max_alternatives is null, expected an integer from 0"},
           {R"({"config":{"max_alternatives":[2]}})", "bad_option",
            "bad_option: text: config.max_alternatives is [2], expected an integer from 0"},
           {R"({"config":{"max_alternatives":2.7}})", "bad_option",
            "bad_option: text: config.max_alternatives is 2.7, expected an integer from 0"},
           {R"({"config":{"max_alternatives":"2.7"}})", "bad_option",
            "bad_option: text: config.max_alternatives is \"2.7\", expected an integer from 0"},
           {R"({"config":{"max_alternatives":""}})", "bad_option",
            "bad_option: text: config.max_alternatives is \"\", expected an integer from 0"},
           {R"({"config":{"max_alternatives":3e9}})", "bad_option",
            "bad_option: text: config.max_alternatives is 3000000000.0, expected an integer"},
           {R"({"config":{"sample_rate":10}})", "bad_option",
            "bad_option: text: config.sample_rate"},
           {R"({"config":{"phrase_list":"two"}})", "bad_option", "bad_option: text: config."},
           {R"({"config":{"max_alternatives":-1}})", "bad_option",
            "bad_option: text: config.max_alternatives"}}) {
    VoskProtocol protocol(Units());
    const auto error = Only<ProtocolError>(protocol.Read(Text(c.text)));
    EXPECT_EQ(CodeName(error.code), c.code);
    EXPECT_TRUE(protocol.OnError(error).empty());
    const Closing closing = protocol.CloseAfter(error);
    EXPECT_EQ(closing.code, 1008);
    EXPECT_EQ(closing.reason.substr(0, c.reason.size()), c.reason);
    ExpectConversation(&protocol, {{Binary("ab"), ""}, {Text(kEof), ""}});
  }
}

TEST(VoskProtocol, FailedStream) {
  VoskProtocol protocol(Units());
  Answer(&protocol);
  LiveUpdate failed;
  failed.is_final = true;
  failed.error = "broken";
  EXPECT_TRUE(protocol.OnUpdate(failed).empty());
}

TEST(VoskProtocol, TextThatIsNotUtf8) {
  VoskProtocol protocol(Units());
  LiveUpdate update;
  update.stable_text = "a\xE5\xAD";
  protocol.OnUpdate(update);
  EXPECT_EQ(Answer(&protocol), "{\"partial\":\"a\uFFFD\"}");
}

}  // namespace
}  // namespace runnel::server
