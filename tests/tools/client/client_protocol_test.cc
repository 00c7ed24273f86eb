#include "tools/client/client_protocol.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace runnel::client {
namespace {

using Json = nlohmann::json;
using Kind = ServerMessage::Kind;

std::string Partial(const std::string& stable, const std::string& tentative, int offset) {
  return Json{{"type", "partial"},          {"stable_text", stable}, {"tentative_text", tentative},
              {"stable_offset", offset},    {"audio_ms", 640},       {"latency_ms", 1.5},
              {"stable_length", offset + 1}}
      .dump();
}

TEST(ClientProtocolTest, StartSaysWhatWasAskedForAndNothingElse) {
  const std::unique_ptr<ClientProtocol> protocol = MakeClientProtocol("runnel");
  StartOptions options;
  options.sample_rate_hz = 8000;
  Json start = Json::parse(protocol->StartMessage(options));
  EXPECT_EQ(start.at("type"), "start");
  EXPECT_EQ(start.at("version"), 1);
  EXPECT_EQ(start.at("sample_rate"), 8000);
  EXPECT_EQ(start.at("encoding"), "pcm16");
  for (const char* name : {"chunk_size", "left_context", "right_context", "cached_windows"}) {
    EXPECT_FALSE(start.contains(name)) << name;
  }
  options.chunk_size = 4;
  options.left_context = -1;
  options.cached_windows = true;
  options.encoding = SampleEncoding::kFloat32;
  start = Json::parse(protocol->StartMessage(options));
  EXPECT_EQ(start.at("chunk_size"), 4);
  EXPECT_EQ(start.at("left_context"), -1);
  EXPECT_EQ(start.at("cached_windows"), true);
  EXPECT_EQ(start.at("encoding"), "float32");
  options.fields = R"({"head":"ctc","chunk_size":8,"endpointing":{"max_utterance_s":9}})";
  start = Json::parse(protocol->StartMessage(options));
  EXPECT_EQ(start.at("head"), "ctc");
  EXPECT_EQ(start.at("chunk_size"), 8);
  EXPECT_EQ(start.at("endpointing").at("max_utterance_s"), 9);
  EXPECT_EQ(start.at("left_context"), -1);
}

// Offsets count characters, not bytes. A partial may replace stable text from its offset on.
TEST(ClientProtocolTest, StableTextIsJoined) {
  const std::unique_ptr<ClientProtocol> protocol = MakeClientProtocol("runnel");
  EXPECT_EQ(protocol->Read(Partial("", "zw", 0)).text, "zw");
  EXPECT_EQ(protocol->Read(Partial("fünf ", "dr", 0)).text, "fünf dr");
  const ServerMessage message = protocol->Read(Partial("drei ", "", 5));
  EXPECT_EQ(message.kind, Kind::kPartial);
  EXPECT_EQ(message.text, "fünf drei ");
  EXPECT_EQ(message.audio_ms, 640);
  EXPECT_EQ(message.latency_ms, 1.5);
  EXPECT_EQ(protocol->Read(Partial("x", "", 2)).text, "füx");
  EXPECT_EQ(protocol->Read(R"({"type":"resumed","samples":77})").num_samples, 77);
  EXPECT_EQ(protocol->Read(Partial("fünf ", "", 0)).text, "fünf ");
  const ServerMessage final = protocol->Read(R"({"type":"final","text":"fünf","audio_ms":1})");
  EXPECT_EQ(final.kind, Kind::kFinal);
  EXPECT_EQ(final.text, "fünf");
  const ServerMessage error = protocol->Read(R"({"type":"error","code":"full","message":"m"})");
  EXPECT_EQ(error.kind, Kind::kError);
  EXPECT_EQ(error.code, "full");
  EXPECT_EQ(protocol->Read(R"({"type":"of a later server"})").kind, Kind::kOther);
}

std::string Utterance(const std::string& type, int index, const std::string& text) {
  return Json{{"type", type}, {"index", index}, {"text", text}}.dump();
}

TEST(ClientProtocolTest, UtterancesAreJoined) {
  const std::unique_ptr<ClientProtocol> protocol = MakeClientProtocol("runnel");
  StartOptions options;
  EXPECT_FALSE(Json::parse(protocol->StartMessage(options)).contains("endpointing"));
  options.endpointing = true;
  EXPECT_EQ(Json::parse(protocol->StartMessage(options))["endpointing"], true);
  protocol->OnConnect();
  EXPECT_EQ(protocol->Read(Partial("eins", "", 0)).text, "eins");
  const ServerMessage message = protocol->Read(Utterance("utterance", 0, "eins"));
  EXPECT_EQ(message.kind, Kind::kUtterance);
  EXPECT_EQ(message.utterance, "eins");
  EXPECT_EQ(protocol->num_utterances(), 1);
  EXPECT_EQ(protocol->Read(Utterance("utterance", 1, "")).utterance, "");
  const ServerMessage end = protocol->Read(Utterance("final", 2, "zwei"));
  EXPECT_EQ(end.kind, Kind::kFinal);
  EXPECT_EQ(end.utterance, "zwei");
  EXPECT_EQ(end.text, "eins zwei");
}

// A stream that begins anew brings its utterances a second time.
TEST(ClientProtocolTest, NoUtteranceComesTwice) {
  const std::unique_ptr<ClientProtocol> protocol = MakeClientProtocol("runnel");
  protocol->OnConnect();
  protocol->Read(Utterance("utterance", 0, "one"));
  protocol->OnConnect();
  EXPECT_EQ(protocol->Read(R"({"type":"ready"})").kind, Kind::kReady);
  EXPECT_EQ(protocol->Read(R"({"type":"partial","utterance":0})").kind, Kind::kOther);
  EXPECT_EQ(protocol->Read(Utterance("utterance", 0, "one")).kind, Kind::kOther);
  EXPECT_EQ(protocol->Read(Utterance("utterance", 1, "two")).utterance, "two");
  protocol->OnConnect();  // the server has lost some
  protocol->Read(R"({"type":"resumed","samples":5,"utterances":4})");
  EXPECT_EQ(protocol->num_utterances(), 4);
  EXPECT_EQ(protocol->Read(Utterance("final", 4, "five")).text, "one two five");
  const Json resume = Json::parse(ResumeMessage("t", SampleEncoding::kPcm16, 4));
  EXPECT_EQ(resume["utterances"], 4);
}

TEST(ClientProtocolTest, WenetEndsWithSpeechEnd) {
  const std::unique_ptr<ClientProtocol> protocol = MakeClientProtocol("wenet");
  EXPECT_EQ(protocol->Read(R"({"status":"ok","type":"server_ready"})").kind, Kind::kReady);
  EXPECT_EQ(protocol
                ->Read(R"({"status":"ok","type":"partial_result",)"
                       R"("nbest":"[{\"sentence\":\"one\"}]"})")
                .text,
            "one");
  EXPECT_EQ(protocol
                ->Read(R"({"status":"ok","type":"final_result",)"
                       R"("nbest":"[{\"sentence\":\"one two\",\"word_pieces\":[]}]"})")
                .kind,
            Kind::kUtterance);
  const ServerMessage end = protocol->Read(R"({"status":"ok","type":"speech_end"})");
  EXPECT_EQ(end.kind, Kind::kFinal);
  EXPECT_EQ(end.text, "one two");
  EXPECT_EQ(protocol->Read(R"({"status":"failed","message":"m"})").kind, Kind::kError);
}

TEST(ClientProtocolTest, FlushesAreAnswered) {
  const std::unique_ptr<ClientProtocol> protocol = MakeClientProtocol("runnel");
  EXPECT_EQ(protocol->EndOfSpeechMessage(), R"({"type":"flush"})");
  EXPECT_TRUE(protocol->Read(R"({"type":"utterance","index":0,"text":"one","end":"flush"})")
                  .answers_end_of_speech);
  EXPECT_FALSE(protocol->Read(R"({"type":"utterance","index":1,"text":"two","end":"endpoint"})")
                   .answers_end_of_speech);
  EXPECT_TRUE(protocol->Read(R"({"type":"flushed"})").answers_end_of_speech);
  for (const char* name : {"wenet", "sherpa"}) {
    EXPECT_EQ(MakeClientProtocol(name)->EndOfSpeechMessage(), "");
  }
}

std::string Results(const std::string& text, bool is_final, bool from_finalize) {
  return Json{{"type", "Results"},
              {"is_final", is_final},
              {"from_finalize", from_finalize},
              {"channel", {{"alternatives", {{{"transcript", text}}}}}}}
      .dump();
}

TEST(ClientProtocolTest, DeepgramEndsWithMetadata) {
  const std::unique_ptr<ClientProtocol> protocol = MakeClientProtocol("deepgram");
  StartOptions options;
  options.sample_rate_hz = 8000;
  EXPECT_EQ(protocol->Target(options),
            "v1/listen?encoding=linear16&interim_results=true&sample_rate=8000");
  EXPECT_EQ(protocol->StartMessage(options), "");
  EXPECT_EQ(Json::parse(protocol->EndOfSpeechMessage()).at("type"), "Finalize");
  EXPECT_EQ(protocol->Read(Results("one", false, false)).text, "one");
  const ServerMessage utterance = protocol->Read(Results("one", true, false));
  EXPECT_EQ(utterance.utterance, "one");
  EXPECT_FALSE(utterance.answers_end_of_speech);
  EXPECT_EQ(protocol->Read(Results("tw", false, false)).text, "one tw");
  EXPECT_TRUE(protocol->Read(Results("two", true, true)).answers_end_of_speech);
  EXPECT_EQ(protocol->Read(R"({"type":"SpeechStarted"})").kind, Kind::kOther);
  const ServerMessage end = protocol->Read(R"({"type":"Metadata"})");
  EXPECT_EQ(end.kind, Kind::kFinal);
  EXPECT_EQ(end.text, "one two");
}

TEST(ClientProtocolTest, OpenAiEndsWithTheItemOfTheLastCommit) {
  const std::unique_ptr<ClientProtocol> protocol = MakeClientProtocol("openai");
  StartOptions options;
  options.sample_rate_hz = 8000;
  EXPECT_EQ(protocol->Target(options), "v1/realtime?intent=transcription");
  const Json input =
      Json::parse(protocol->StartMessage(options)).at("session").at("audio").at("input");
  EXPECT_EQ(input.at("format").at("rate"), 8000);
  EXPECT_TRUE(input.at("turn_detection").is_null());
  const MessageToSend audio = protocol->AudioMessage(std::string("\0ab\xFF", 4));
  EXPECT_TRUE(audio.is_text);
  EXPECT_EQ(Json::parse(audio.bytes).at("audio"), "AGFi/w==");
  EXPECT_EQ(protocol->Read(R"({"type":"session.created"})").kind, Kind::kOther);
  EXPECT_EQ(protocol->Read(R"({"type":"session.updated"})").kind, Kind::kReady);
  const auto item = [](const std::string& kind, const std::string& field, const std::string& text) {
    return Json{{"type", "conversation.item.input_audio_transcription." + kind}, {field, text}}
        .dump();
  };
  EXPECT_EQ(Json::parse(protocol->EndOfSpeechMessage()).at("type"), "input_audio_buffer.commit");
  EXPECT_EQ(protocol->Read(item("delta", "delta", "on")).text, "on");
  EXPECT_EQ(protocol->Read(item("delta", "delta", "e")).text, "one");
  const ServerMessage first = protocol->Read(item("completed", "transcript", "one"));
  EXPECT_EQ(first.kind, Kind::kUtterance);
  EXPECT_EQ(first.utterance, "one");
  EXPECT_TRUE(first.answers_end_of_speech);
  protocol->EndOfSpeechMessage();
  protocol->FinishMessage();
  EXPECT_EQ(protocol->Read(item("completed", "transcript", "two")).kind, Kind::kUtterance);
  const ServerMessage end = protocol->Read(item("completed", "transcript", "three"));
  EXPECT_EQ(end.kind, Kind::kFinal);
  EXPECT_EQ(end.text, "one two three");
}

TEST(ClientProtocolTest, OpenAiEndsWithoutAnItemWhenNothingIsLeft) {
  const auto error = [](const std::string& code) {
    return Json{{"type", "error"}, {"error", {{"code", code}, {"message", "m"}}}}.dump();
  };
  const std::unique_ptr<ClientProtocol> protocol = MakeClientProtocol("openai");
  EXPECT_EQ(protocol->Read(error("bad_option")).kind, Kind::kError);
  protocol->FinishMessage();
  EXPECT_EQ(protocol->Read(error("input_audio_buffer_commit_empty")).kind, Kind::kFinal);
}

TEST(ClientProtocolTest, SherpaJoinsSegments) {
  const std::unique_ptr<ClientProtocol> protocol = MakeClientProtocol("sherpa");
  const auto update = [](const std::string& text, bool is_final) {
    return Json{{"text", text}, {"is_final", is_final}}.dump();
  };
  EXPECT_EQ(protocol->Read(update("one", false)).text, "one");
  EXPECT_EQ(protocol->Read(update("one two", true)).text, "one two");
  EXPECT_EQ(protocol->Read(update("three", false)).text, "one two three");
  const ServerMessage end = protocol->Read("Done!");
  EXPECT_EQ(end.kind, Kind::kFinal);
  EXPECT_EQ(end.text, "one two three");
  EXPECT_EQ(protocol->Read(update("four", true)).utterance, "four");
  EXPECT_FALSE(protocol->Read(update("five", false)).utterance.has_value());
  protocol->OnConnect();
  EXPECT_EQ(protocol->Read(update("one", false)).text, "one");
}

TEST(ClientProtocolTest, WhatIsNoMessage) {
  for (const char* name : {"runnel", "deepgram", "openai", "wenet", "sherpa"}) {
    for (const char* text :
         {"", "{", "[]", "1", "{}", "\xFF", R"({"type":1,"status":[],"text":2})"}) {
      const std::unique_ptr<ClientProtocol> protocol = MakeClientProtocol(name);
      EXPECT_THROW(protocol->Read(text), std::runtime_error) << name << " " << text;
    }
  }
  for (const auto& [name, text] : std::vector<std::pair<std::string, std::string>>{
           {"runnel", R"({"type":"partial","status":"failed"})"},
           {"deepgram", R"({"type":"Results","is_final":true})"},
           {"openai", R"({"type":"error","error":"failed"})"},
           {"wenet", R"({"type":"partial","status":"failed"})"},
           {"sherpa", R"({"type":"partial","status":"failed"})"}}) {
    EXPECT_THROW(MakeClientProtocol(name)->Read(text), std::runtime_error) << name;
  }
  EXPECT_THROW(MakeClientProtocol("kaldi"), std::invalid_argument);
}

TEST(ClientProtocolTest, RefusalBodies) {
  const auto body = ReadRefusalBody(R"({"error":{"code":"full","message":"come back"}})");
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(body->code, "full");
  EXPECT_EQ(body->message, "come back");
  for (const char* text : {"", "<html>", "{}", R"({"error":"full"})", R"({"error":{"code":1}})"}) {
    EXPECT_FALSE(ReadRefusalBody(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace runnel::client
