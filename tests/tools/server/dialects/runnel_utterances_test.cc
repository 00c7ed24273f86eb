// Utterances in Runnel's protocol: each once and in order, flush, what a resume repeats.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/endpoint_options.h"
#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/dialects/runnel_protocol.h"

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

constexpr const char* kStart = R"({"type":"start","version":1})";
constexpr const char* kFlush = R"({"type":"flush"})";

std::vector<json> Parsed(const std::vector<std::string>& texts) {
  std::vector<json> messages;
  for (const std::string& text : texts) messages.push_back(json::parse(text));
  return messages;
}

// E.g. "utterance 0", "partial 1", "final 2", "error".
std::vector<std::string> Kinds(const std::vector<std::string>& texts) {
  std::vector<std::string> kinds;
  for (const json& message : Parsed(texts)) {
    const json index = message.value("index", message.value("utterance", json()));
    kinds.push_back(message["type"].get<std::string>() + (index.is_null() ? "" : " ") +
                    (index.is_null() ? "" : index.dump()));
  }
  return kinds;
}

LiveUpdate UpdateWith(const std::vector<int64_t>& ended, int64_t running) {
  LiveUpdate update = RunningZe(running);
  for (const int64_t index : ended) update.utterances.push_back(EndedTwo(index));
  return update;
}

using Strings = std::vector<std::string>;

TEST(RunnelUtterances, FlushComesWithTheAudio) {
  RunnelProtocol protocol(Units());
  const std::string samples = Pcm16({1, 2});
  ExpectConversation(&protocol, {{Text(kStart), "start"},
                                 {Text(kFlush), "flush"},
                                 {Binary(samples), "audio 2"},
                                 {Binary(samples.substr(0, 1)), "audio 0"},
                                 {Text(kFlush), "flush"},  // the sample is completed later
                                 {Binary(samples.substr(1)), "audio 2"}});
  EXPECT_EQ(Shown(protocol.Read(Text(R"({"type":"flush","now":1})"))), "error bad_option");
  for (const Strings& before : {Strings{}, Strings{kStart, R"({"type":"finish"})"}}) {
    RunnelProtocol other(Units());
    for (const std::string& message : before) other.Read(Text(message));
    EXPECT_EQ(Shown(other.Read(Text(kFlush))), "error unsupported_order");
  }
}

TEST(RunnelUtterances, EachIsAMessageBeforeTheTextThatFollows) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(R"({"type":"start","version":1,"endpointing":true})"));
  EXPECT_EQ(Kinds(protocol.OnUpdate(TwoZero())), Strings{"partial 0"});
  const std::vector<std::string> texts = protocol.OnUpdate(UpdateWith({0, 1}, 2));
  EXPECT_EQ(Kinds(texts), (Strings{"utterance 0", "utterance 1", "partial 2"}));
  const json utterance = json::parse(texts[1]);
  const json expected = {
      {"type", "utterance"}, {"latency_ms", 7.5},  {"index", 1},
      {"start_ms", 1040.0},  {"end_ms", 1200.0},   {"audio_ms", 1600.0},
      {"end", "endpoint"},   {"text", "two"},      {"confidence", 0.75},
      {"begins_word", true}, {"ends_word", false}, {"nbest", utterance["nbest"]}};
  EXPECT_EQ(utterance, expected);
  ASSERT_EQ(utterance["nbest"].size(), 1U);
  EXPECT_EQ(utterance["nbest"][0]["tokens"].size(), 1U);
  const json partial = json::parse(texts[2]);
  EXPECT_EQ(partial["stable_offset"], 0);  // within its utterance
  EXPECT_EQ(partial["stable_length"], 2);

  LiveUpdate last = FinalTwoZero();
  last.utterances.insert(last.utterances.begin(), EndedTwo(2));
  last.utterances[0].end = UtteranceEnd::kFinalize;
  last.utterances[1].index = 3;
  const std::vector<json> end = Parsed(protocol.OnUpdate(last));
  ASSERT_EQ(end.size(), 2U);
  EXPECT_EQ(end[0]["end"], "flush");
  EXPECT_EQ(end[1]["type"], "final");
  EXPECT_EQ(end[1]["index"], 3);
  EXPECT_EQ(end[1]["end"], "finish");
  EXPECT_EQ(end[1]["text"], "two zero");
}

// A stream without endpointing has the messages that it had before utterances, and these fields.
TEST(RunnelUtterances, OneUtteranceAddsOnlyFields) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(kStart));
  EXPECT_EQ(OnlyMessage(protocol.OnReady({}))["endpointing"], false);
  EXPECT_EQ(OnlyMessage(protocol.OnUpdate(TwoZero()))["utterance"], 0);
  const json final = OnlyMessage(protocol.OnUpdate(FinalTwoZero()));
  Strings fields;
  for (const auto& [name, value] : final.items()) fields.push_back(name);
  EXPECT_EQ(fields, (Strings{"audio_ms", "begins_word", "confidence", "end", "end_ms", "ends_word",
                             "index", "latency_ms", "nbest", "start_ms", "text", "type"}));
}

TEST(RunnelUtterances, LanguageAndEndToken) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(R"({"type":"start","version":1,"endpointing":true})"));
  protocol.OnReady({});
  LiveUpdate update = UpdateWith({0}, 1);
  update.utterances[0].nbest[0].language = "en-US";
  update.utterances[0].end = UtteranceEnd::kEndToken;
  const json utterance = json::parse(protocol.OnUpdate(update).front());
  EXPECT_EQ(utterance["type"], "utterance");
  EXPECT_EQ(utterance["language"], "en-US");
  EXPECT_EQ(utterance["end"], "end_token");
  EXPECT_EQ(utterance["nbest"][0]["language"], "en-US");
}

TEST(RunnelUtterances, AFlushWithoutAnUtteranceIsAnsweredToo) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(kStart));
  LiveUpdate update = UpdateWith({0}, 1);
  update.num_empty_finalizations = 2;
  EXPECT_EQ(Kinds(protocol.OnUpdate(update)),
            (Strings{"utterance 0", "flushed", "flushed", "partial 1"}));
  LiveUpdate last = FinalTwoZero();
  last.num_empty_finalizations = 1;
  EXPECT_EQ(Kinds(protocol.OnUpdate(last)).front(), "flushed");
}

TEST(RunnelUtterances, AnErrorComesAfterThem) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(kStart));
  LiveUpdate failed = UpdateWith({0}, 1);
  failed.is_final = true;
  failed.error = "not finite";
  EXPECT_EQ(Kinds(protocol.OnUpdate(failed)), (Strings{"utterance 0", "error"}));
}

TEST(RunnelUtterances, AResumedClientGetsWhatItLacks) {
  RunnelProtocol protocol(Units());
  ExpectConversation(&protocol,
                     {{Text(R"({"type":"resume","version":1,"token":"a","utterances":3})"),
                       "resume a utterances 3"}});
  SessionInfo info;
  info.num_samples = 100;
  info.first_utterance = 3;
  EXPECT_EQ(OnlyMessage(protocol.OnReady(info))["utterances"], 3);
  EXPECT_EQ(Kinds(protocol.OnUtterances({EndedTwo(3), EndedTwo(4)})),
            (Strings{"utterance 3", "utterance 4"}));
  EXPECT_EQ(Kinds(protocol.OnUpdate(UpdateWith({5}, 6))), (Strings{"utterance 5", "partial 6"}));
}

// The snapshot is older than what the client has: the stream ends some utterances a second time.
TEST(RunnelUtterances, AResumedClientGetsNothingTwice) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(R"({"type":"resume","version":1,"token":"a","utterances":2})"));
  SessionInfo info;
  info.num_samples = 100;
  info.first_utterance = 2;
  protocol.OnReady(info);
  EXPECT_EQ(Kinds(protocol.OnUpdate(RunningZe(0))), Strings{});
  EXPECT_EQ(Kinds(protocol.OnUpdate(UpdateWith({0}, 1))), Strings{});
  EXPECT_EQ(Kinds(protocol.OnUpdate(UpdateWith({1}, 2))), Strings{"partial 2"});
  EXPECT_EQ(Kinds(protocol.OnUpdate(UpdateWith({2}, 3))), (Strings{"utterance 2", "partial 3"}));
}

TEST(RunnelUtterances, NumberOfAResumeIsChecked) {
  for (const char* value : {"-1", "1.5", "\"1\"", "null", "18446744073709551615"}) {
    RunnelProtocol protocol(Units());
    const std::string text =
        R"({"type":"resume","version":1,"token":"a","utterances":)" + std::string(value) + "}";
    EXPECT_EQ(Shown(protocol.Read(Text(text))), "error bad_option") << value;
  }
}

EndpointOptions EndpointsOf(const std::string& value) {
  RunnelProtocol protocol(Units());
  const std::string text = R"({"type":"start","version":1,"endpointing":)" + value + "}";
  return Only<StartRequest>(protocol.Read(Text(text))).options.values.stream.endpoints;
}

TEST(RunnelEndpointing, IsOffUnlessAskedFor) {
  RunnelProtocol protocol(Units());
  const auto start = Only<StartRequest>(protocol.Read(Text(kStart)));
  EXPECT_FALSE(start.options.values.stream.endpoints.enabled);
  EXPECT_FALSE(start.expects_endpointing);
  EXPECT_FALSE(EndpointsOf("false").enabled);
}

TEST(RunnelEndpointing, SetsTheRules) {
  for (const char* value : {"true", "{}"}) {
    const EndpointOptions usual = EndpointsOf(value);
    EXPECT_TRUE(usual.enabled);
    EXPECT_EQ(usual.rules[0].min_silence_s, EndpointOptions().rules[0].min_silence_s);
    EXPECT_EQ(usual.rules[1].min_silence_s, EndpointOptions().rules[1].min_silence_s);
  }
  const EndpointOptions options = EndpointsOf(
      R"({"silence_s":0.5,"initial_silence_s":3,"max_utterance_s":60,"blank_probability":0.9,)"
      R"("reset_encoder":true})");
  EXPECT_TRUE(options.enabled);
  EXPECT_FALSE(options.rules[0].needs_speech);
  EXPECT_EQ(options.rules[0].min_silence_s, 3);
  EXPECT_TRUE(options.rules[1].needs_speech);
  EXPECT_EQ(options.rules[1].min_silence_s, 0.5);
  EXPECT_EQ(options.rules[2].min_silence_s, 0);
  EXPECT_EQ(options.rules[2].min_utterance_s, 60);
  EXPECT_EQ(options.silence_blank_probability, 0.9);
  EXPECT_TRUE(options.reset_encoder);
  const EndpointOptions patient = EndpointsOf(R"({"silence_s":4})");
  EXPECT_EQ(patient.rules[0].min_silence_s, EndpointOptions().rules[0].min_silence_s);
  EXPECT_EQ(patient.rules[1].min_silence_s, 4);
}

TEST(RunnelEndpointing, ReadyStatesWhatStartMaySay) {
  const std::string value = R"({"silence_s":0.5,"initial_silence_s":3.0,"max_utterance_s":60.0,)"
                            R"("blank_probability":0.9,"reset_encoder":true,"skip_silence":false,)"
                            R"("skip_silence_lead_s":1.5})";
  RunnelProtocol protocol(Units());
  SessionInfo info;
  info.options.endpoints = EndpointsOf(value);
  EXPECT_EQ(OnlyMessage(protocol.OnReady(info))["endpointing"], json::parse(value));
}

TEST(RunnelEndpointing, ValuesOutOfRange) {
  for (const std::string value :
       {"1", "null", "\"true\"", "[]", R"({"silence_s":0})", R"({"silence_s":1e9})",
        R"({"silence_s":"1"})", R"({"initial_silence_s":-1})", R"({"max_utterance_s":0.5})",
        R"({"blank_probability":0})", R"({"blank_probability":1.1})", R"({"reset_encoder":1})",
        R"({"silence":1})"}) {
    RunnelProtocol protocol(Units());
    const std::string text = R"({"type":"start","version":1,"endpointing":)" + value + "}";
    const auto error = Only<ProtocolError>(protocol.Read(Text(text)));
    EXPECT_EQ(error.code, ErrorCode::kBadOption) << value;
    EXPECT_NE(error.message.find("endpointing"), std::string::npos) << error.message;
  }
}

// A query has no objects, so its options have longer names.
TEST(RunnelEndpointing, NamesOfAQueryAreRefusedWithThoseOfAMessage) {
  for (const auto& [fields, message] : std::vector<std::pair<std::string, std::string>>{
           {R"("endpoint_silence_s":0.5)",
            "start: endpoint_silence_s is 0.5, expected endpointing.silence_s instead"},
           {R"("endpointing":true,"skip_silence":true)",
            "start: skip_silence is true, expected endpointing.skip_silence instead"},
           {R"("endpointing":{"endpoint_silence_s":0.5})",
            "start: endpointing.endpoint_silence_s is 0.5, expected endpointing.silence_s "
            "instead"}}) {
    RunnelProtocol protocol(Units());
    const auto error =
        Only<ProtocolError>(protocol.Read(Text(R"({"type":"start","version":1,)" + fields + "}")));
    EXPECT_EQ(error.code, ErrorCode::kBadOption);
    EXPECT_EQ(error.message, message);
  }
}

TEST(SegmentsReply, JoinsTheTexts) {
  std::vector<Utterance> utterances = {EndedTwo(0), EndedTwo(1), EndedTwo(2)};
  utterances[2].nbest = {Hypothesis()};  // nothing was said before the end
  const json reply = json::parse(SegmentsReply(utterances, {}, Units()));
  EXPECT_EQ(reply["text"], "two two");
  EXPECT_EQ(reply["audio_ms"], 2600.0);
  ASSERT_EQ(reply["segments"].size(), 2U);
  EXPECT_EQ(reply["segments"][1]["index"], 1);
  EXPECT_EQ(reply["segments"][1]["start_ms"], 1040.0);
  EXPECT_EQ(reply["segments"][1]["nbest"].size(), 1U);

  const TokenTable characters("<blank> 0\n字 1\n", 2, 0, "units");
  for (Utterance& utterance : utterances) characters.Complete(&utterance.nbest[0]);
  EXPECT_EQ(json::parse(SegmentsReply(utterances, {1, false}, characters))["text"], "字字");
  EXPECT_EQ(json::parse(SegmentsReply({}, {}, Units()))["segments"], json::array());
}

}  // namespace
}  // namespace runnel::server
