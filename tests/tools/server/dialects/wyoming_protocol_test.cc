#include "tools/server/dialects/wyoming_protocol.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/server/dialects/protocol_conversation.h"

namespace runnel::server {
namespace {

using nlohmann::json;
using testing::Binary;
using testing::FinalTwoZero;
using testing::Only;
using testing::Pcm16;
using testing::Shown;
using testing::TwoZero;

std::string Event(const std::string& type, const json& data = json::object(),
                  const std::string& payload = "") {
  const json header = {{"type", type}, {"data", data}, {"payload_length", payload.size()}};
  return header.dump() + "\n" + payload;
}

json Format(int rate_hz, int width, int channels) {
  return {{"rate", rate_hz}, {"width", width}, {"channels", channels}, {"timestamp", nullptr}};
}

// The answer to describe is "I".
std::string Answer(WyomingProtocol* protocol, const std::string& event) {
  return Shown(protocol->Read(Binary(event)));
}

std::vector<float> SamplesOf(int width, int channels, const std::string& payload) {
  WyomingProtocol protocol("I");
  const json format = Format(16000, width, channels);
  EXPECT_EQ(Answer(&protocol, Event("audio-start", format)), "start");
  const std::string chunk = Event("audio-chunk", format, payload);
  return Only<AudioRequest>(protocol.Read(Binary(chunk))).samples;
}

// The events without "data_length", one after another.
std::string Sent(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    const WyomingEvent event = ReadWyomingEvent(text);
    all += (all.empty() ? "" : "; ") + event.type;
    if (!event.data.empty()) all += " " + event.data.dump();
  }
  return all;
}

TEST(WyomingProtocol, AnUtterance) {
  WyomingProtocol protocol("I");
  const json format = Format(8000, 2, 1);
  EXPECT_EQ(Answer(&protocol, Event("describe")), "reply I");
  EXPECT_EQ(Answer(&protocol, Event("transcribe", {{"language", "de"}, {"name", "x"}})), "");
  const auto start = Only<StartRequest>(protocol.Read(Binary(Event("audio-start", format))));
  EXPECT_EQ(start.options.values.stream.sample_rate_hz, 8000);
  EXPECT_FALSE(start.options.values.stream.endpoints.enabled);
  EXPECT_EQ(start.language_hint, "de");
  EXPECT_EQ(Answer(&protocol, Event("audio-chunk", format, "abcd")), "audio 2");
  EXPECT_EQ(Answer(&protocol, Event("ping", {{"text", "a"}})),
            "reply {\"type\":\"pong\",\"data_length\":12}\n{\"text\":\"a\"}");
  EXPECT_EQ(Answer(&protocol, Event("voice-stopped")), "");
  EXPECT_EQ(Answer(&protocol, Event("audio-chunk", format)), "audio 0");
  EXPECT_EQ(Answer(&protocol, Event("audio-stop")), "finish");
  EXPECT_EQ(Answer(&protocol, Event("audio-chunk", format, "ab")), "");
}

TEST(WyomingProtocol, PiecesJoinedAreTheTranscript) {
  WyomingProtocol protocol("I");
  EXPECT_EQ(Sent(protocol.OnReady({})), "");
  EXPECT_EQ(Sent(protocol.OnUpdate(LiveUpdate())), "");
  EXPECT_EQ(Sent(protocol.OnUpdate(TwoZero())),
            R"(transcript-start; transcript-chunk {"text":"two"})");
  EXPECT_EQ(
      Sent(protocol.OnUpdate(FinalTwoZero())),
      R"(transcript-chunk {"text":" zero"}; transcript {"text":"two zero"}; transcript-stop)");
}

TEST(WyomingProtocol, TheLastUpdateBringsEverything) {
  WyomingProtocol protocol("I");
  SessionInfo info;
  info.options.language = "en";
  EXPECT_EQ(Sent(protocol.OnReady(info)), "");
  LiveUpdate merged = TwoZero();
  merged.Append(FinalTwoZero());
  EXPECT_EQ(Sent(protocol.OnUpdate(merged)),
            R"(transcript-start {"language":"en"}; transcript-chunk {"text":"two zero"}; )"
            R"(transcript {"language":"en","text":"two zero"}; transcript-stop)");
}

TEST(WyomingProtocol, TheLanguageThatWasFound) {
  WyomingProtocol protocol("I");
  EXPECT_EQ(Sent(protocol.OnReady({})), "");
  LiveUpdate last = FinalTwoZero();
  last.utterances[0].nbest[0].language = "de";
  EXPECT_NE(Sent(protocol.OnUpdate(last))
                .find(R"(transcript {"language":"de","text":"two zero"}; transcript-stop)"),
            std::string::npos);
}

TEST(WyomingProtocol, NoText) {
  WyomingProtocol protocol("I");
  LiveUpdate last;
  last.is_final = true;
  last.utterances.resize(1);
  last.utterances[0].nbest.resize(1);
  EXPECT_EQ(Sent(protocol.OnUpdate(last)),
            R"(transcript-start; transcript {"text":""}; transcript-stop)");
}

TEST(WyomingProtocol, Formats) {
  EXPECT_EQ(SamplesOf(2, 1, Pcm16({16384, -32768})), (std::vector<float>{0.5F, -1}));
  EXPECT_EQ(SamplesOf(2, 2, Pcm16({16384, 0, -32768, 0})), (std::vector<float>{0.25F, -0.5F}));
  EXPECT_EQ(SamplesOf(4, 1, std::string("\0\0\0\x40\xFF\xFF\0\x80", 8)),
            (std::vector<float>{0.5F, -1}));
  EXPECT_EQ(SamplesOf(4, 2, std::string("\0\0\0\x40\0\0\0\0", 8)), std::vector<float>{0.25F});
}

TEST(WyomingProtocol, Mistakes) {
  const json format = Format(16000, 2, 1);
  const std::string start = Event("audio-start", format);
  struct Case {
    std::vector<std::string> events;
    std::string answer;  // to the last of them
  };
  for (const Case& c : std::vector<Case>{
           {{"hello"}, "error bad_json"},
           {{Event("audio-chunk", format, "ab")}, "error unsupported_order"},
           {{Event("audio-stop")}, "error unsupported_order"},
           {{start, start}, "error unsupported_order"},
           {{start, Event("transcribe")}, "error unsupported_order"},
           {{start, Event("audio-chunk", Format(16000, 2, 2), "abcd")}, "error bad_option"},
           {{start, Event("audio-chunk", format, "abc")}, "error odd_bytes"},
           {{Event("audio-start")}, "error bad_option"},
           {{Event("audio-start", Format(999, 2, 1))}, "error bad_option"},
           {{Event("audio-start", Format(16000, 1, 1))}, "error bad_option"},
           {{Event("audio-start", Format(16000, 3, 1))}, "error bad_option"},
           {{Event("audio-start", Format(16000, 2, 33))}, "error bad_option"},
           {{Event("transcribe", {{"language", 1}})}, "error bad_option"},
           {{Event("transcribe", {{"language", nullptr}})}, ""}}) {
    WyomingProtocol protocol("I");
    std::string answer;
    for (const std::string& event : c.events) answer = Answer(&protocol, event);
    EXPECT_EQ(answer, c.answer) << c.events.back();
    if (c.answer.empty()) continue;
    EXPECT_EQ(Answer(&protocol, Event("describe")), "");
  }
}

TEST(WyomingProtocol, Errors) {
  WyomingProtocol protocol("I");
  EXPECT_EQ(Sent(protocol.OnError({ErrorCode::kFull, "too\nmany"})),
            R"(error {"code":"full","text":"too many"})");
  LiveUpdate failed;
  failed.is_final = true;
  failed.error = "not finite";
  EXPECT_EQ(Sent(WyomingProtocol("I").OnUpdate(failed)),
            R"(error {"code":"stream_failed","text":"not finite"})");
}

TEST(WyomingProtocol, Info) {
  const WyomingEvent event = ReadWyomingEvent(WyomingInfo("digits", {"en", "de"}));
  EXPECT_EQ(event.type, "info");
  const json& program = event.data.at("asr").at(0);
  EXPECT_EQ(program.at("supports_transcript_streaming"), true);
  const json& model = program.at("models").at(0);
  EXPECT_EQ(model.at("name"), "digits");
  EXPECT_EQ(model.at("languages"), (json{"en", "de"}));
  for (const json& artifact : {program, model}) {
    EXPECT_EQ(artifact.at("installed"), true);
    EXPECT_TRUE(artifact.at("attribution").at("name").is_string());
    EXPECT_TRUE(artifact.at("attribution").at("url").is_string());
  }
}

TEST(WyomingProtocol, MuchJsonTakesLong) {
  const WyomingProtocol protocol("I");
  const auto takes_long = [&](size_t data_size, size_t payload_size) {
    const json header = {
        {"type", "a"}, {"data_length", data_size}, {"payload_length", payload_size}};
    return protocol.TakesLong(
        Binary(header.dump() + "\n" + std::string(data_size + payload_size, ' ')));
  };
  EXPECT_FALSE(takes_long(0, 60000));
  EXPECT_FALSE(takes_long(4000, 60000));
  EXPECT_TRUE(takes_long(4096, 0));
  EXPECT_TRUE(takes_long(4096, 4));
  EXPECT_TRUE(takes_long(0, 70000));
  EXPECT_FALSE(protocol.TakesLong(Binary(std::string(5000, ' '))));  // is refused unread
}

}  // namespace
}  // namespace runnel::server
