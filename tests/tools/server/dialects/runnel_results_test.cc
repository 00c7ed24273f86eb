// Messages of the server in Runnel's protocol: ready, snapshots, partial and final results, errors.
#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/dialects/runnel_protocol.h"

namespace runnel::server {
namespace {

using nlohmann::json;
using testing::ExpectConversation;
using testing::FinalTwoZero;
using testing::OnlyMessage;
using testing::Shown;
using testing::Text;
using testing::TwoZero;
using testing::Units;

constexpr const char* kStart = R"({"type":"start","version":1})";

TEST(RunnelResults, ReadyAndResumed) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(R"({"type":"resume","version":1,"token":"abc","encoding":"float32"})"));
  SessionInfo info;
  info.session_id = "s1";
  info.model_name = "digits";
  info.options.sample_rate_hz = 8000;
  info.options.chunk_size = 16;
  info.options.left_context = 64;
  info.options.right_context = StreamOptions::kNoRightContext;
  info.options.search.head = Head::kCtc;
  info.encoder_frame_ms = 40;
  json expected = {{"type", "ready"},    {"version", 1},        {"session", "s1"},
                   {"model", "digits"},  {"sample_rate", 8000}, {"encoding", "float32"},
                   {"chunk_size", 16},   {"left_context", 64},  {"right_context", -1},
                   {"search", "greedy"}, {"head", "ctc"},       {"rescoring", false},
                   {"language", ""},     {"frame_ms", 40.0},    {"endpointing", false},
                   {"early_text", 0},    {"resume", false},     {"cached_windows", false}};
  EXPECT_EQ(OnlyMessage(protocol.OnReady(info)), expected);
  info.options.search.method = SearchMethod::kPrefixBeam;
  info.options.right_context = 8;
  info.options.cached_windows = true;
  info.num_samples = 123456;
  expected["search"] = "beam";
  expected["right_context"] = 8;
  expected["cached_windows"] = true;
  expected["utterances"] = 0;
  expected["type"] = "resumed";
  expected["samples"] = 123456;
  EXPECT_EQ(OnlyMessage(protocol.OnReady(info)), expected);
  EXPECT_EQ(OnlyMessage(protocol.OnSnapshot("abc", 4800)),
            (json{{"type", "snapshot"}, {"token", "abc"}, {"samples", 4800}}));
}

TEST(RunnelResults, AResumeHasTheResultsOfItsStreamUnlessItSaysHowMany) {
  LiveUpdate update;
  update.is_final = true;
  update.utterances.resize(1);
  update.utterances[0].nbest.resize(7);
  for (const auto& [field, expected, num_results] :
       {std::tuple("", "resume a", 7U), std::tuple(R"(,"nbest":2)", "resume a nbest 2", 2U),
        std::tuple(R"(,"nbest":9)", "resume a nbest 9", 7U)}) {
    RunnelProtocol protocol(Units());
    const std::string text =
        R"({"type":"resume","version":1,"token":"a")" + std::string(field) + "}";
    ExpectConversation(&protocol, {{Text(text), expected}});
    EXPECT_EQ(OnlyMessage(protocol.OnUpdate(update))["nbest"].size(), num_results);
  }
}

TEST(RunnelResults, PartialResults) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(kStart));
  const json first = OnlyMessage(protocol.OnUpdate(TwoZero()));
  EXPECT_EQ(first["type"], "partial");
  EXPECT_EQ(first["stable_text"], "two");
  EXPECT_EQ(first["tentative_text"], " zero");
  EXPECT_EQ(first["stable_offset"], 0);
  EXPECT_EQ(first["stable_length"], 3);
  EXPECT_EQ(first["audio_ms"], 640);
  EXPECT_EQ(first["latency_ms"], 12.5);
  EXPECT_EQ(first["stable_tokens"], 1);
  ASSERT_EQ(first["tokens"].size(), 3U);
  EXPECT_EQ(first["tokens"][0], (json{{"text", "\u2581two"},
                                      {"id", 1},
                                      {"frame", 1},
                                      {"start_ms", 40.0},
                                      {"end_ms", 200.0},
                                      {"confidence", 0.75}}));

  LiveUpdate next;  // characters of three bytes count once
  next.stable_text = " ze字字";
  next.stable_size_before = 3;
  const json second = OnlyMessage(protocol.OnUpdate(next));
  EXPECT_EQ(second["stable_offset"], 3);
  EXPECT_EQ(second["stable_length"], 8);
}

// Joining the partial results as docs/protocol.md specifies gives the text, also after a restart of
// the text.
TEST(RunnelResults, ClientsCanJoinTheText) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(kStart));
  std::u32string stable;
  size_t num_bytes = 0;
  const auto update_with = [&](const std::string& text, const std::string& tentative) {
    LiveUpdate update;
    update.stable_text = text;
    update.tentative_text = tentative;
    update.stable_size_before = num_bytes;
    num_bytes += text.size();
    const json message = OnlyMessage(protocol.OnUpdate(update));
    EXPECT_EQ(message["stable_offset"].get<size_t>(), stable.size());
    for (const unsigned char byte : message["stable_text"].get<std::string>()) {
      if ((byte & 0xC0) != 0x80) stable += U'x';
    }
    EXPECT_EQ(message["stable_length"].get<size_t>(), stable.size());
  };
  update_with("", "字");
  update_with("字é", "x");
  update_with("", "");
  update_with(" \xE5\xAD", "\x97");  // a character cut between stable and tentative text
  update_with("\x97!", "");
  num_bytes = 0;
  stable.clear();
  update_with("字é", "");
  update_with("x", "");
}

TEST(RunnelResults, NoTokensUnlessWanted) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(R"({"type":"start","version":1,"tokens":false})"));
  const json partial = OnlyMessage(protocol.OnUpdate(TwoZero()));
  EXPECT_FALSE(partial.contains("tokens"));
  EXPECT_FALSE(partial.contains("stable_tokens"));
  EXPECT_FALSE(OnlyMessage(protocol.OnUpdate(FinalTwoZero()))["nbest"][0].contains("tokens"));
}

TEST(RunnelResults, FinalResult) {
  for (const int nbest : {1, 2, 5}) {
    RunnelProtocol protocol(Units());
    protocol.Read(Text(R"({"type":"start","version":1,"nbest":)" + std::to_string(nbest) + "}"));
    protocol.OnUpdate(TwoZero());
    const json final = OnlyMessage(protocol.OnUpdate(FinalTwoZero()));
    EXPECT_EQ(final["type"], "final");
    EXPECT_EQ(final["text"], "two zero");
    EXPECT_EQ(final["audio_ms"], 1000);
    EXPECT_EQ(final["latency_ms"], 20);
    ASSERT_EQ(final["nbest"].size(), nbest == 1 ? 1U : 2U);
    EXPECT_EQ(final["nbest"][0]["text"], "two zero");
    EXPECT_EQ(final["nbest"][0]["score"], -0.5);
    EXPECT_EQ(final["nbest"][0]["tokens"].size(), 3U);
    EXPECT_EQ(
        final["nbest"][0]["words"],
        (json{{{"text", "two"}, {"start_ms", 40.0}, {"end_ms", 200.0}, {"confidence", 0.75}},
              {{"text", "zero"}, {"start_ms", 320.0}, {"end_ms", 480.0}, {"confidence", 0.75}}}));
  }
}

TEST(RunnelResults, FailedStream) {
  RunnelProtocol protocol(Units());
  protocol.Read(Text(kStart));
  LiveUpdate failed;
  failed.is_final = true;
  failed.error = "the model's output\nis not finite";
  EXPECT_EQ(OnlyMessage(protocol.OnUpdate(failed)),
            (json{{"type", "error"},
                  {"code", "stream_failed"},
                  {"message", "the model's output is not finite"}}));
  EXPECT_EQ(Shown(protocol.Read(Text(kStart))), "");
}

}  // namespace
}  // namespace runnel::server
