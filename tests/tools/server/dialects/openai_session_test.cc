#include "tools/server/dialects/openai_session.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/hotwords.h"
#include "tests/tools/server/dialects/protocol_conversation.h"

namespace runnel::server {
namespace {

using nlohmann::json;
using testing::Units;

OpenAiSession General() { return {OpenAiShape::kGeneral, "7", ""}; }

OpenAiSession With(const std::string& input) {
  OpenAiSession session = General();
  session.Apply(json::parse(R"({"type":"transcription","audio":{"input":)" + input + "}}"));
  return session;
}

double SilenceS(const OpenAiSession& session) {
  const EndpointOptions endpoints = session.MakeStart(Units()).options.values.stream.endpoints;
  EXPECT_TRUE(endpoints.enabled);
  endpoints.Validate();
  return endpoints.rules[EndpointOptions::kSilence].min_silence_s;
}

TEST(OpenAiSession, Defaults) {
  const StartRequest start = General().MakeStart(Units());
  EXPECT_EQ(start.encoding, SampleEncoding::kPcm16);
  EXPECT_EQ(start.options.values.stream.sample_rate_hz, 24000);
  EXPECT_EQ(start.options.values.stream.search.hotwords, nullptr);
  EXPECT_FALSE(start.options.Has("hotwords"));
  EXPECT_FALSE(start.language_hint.has_value());
  EXPECT_EQ(SilenceS(General()), 0.5);
}

TEST(OpenAiSession, Formats) {
  const OpenAiSession mulaw = With(R"({"format":{"type":"audio/pcmu"}})");
  EXPECT_EQ(mulaw.encoding(), SampleEncoding::kMulaw);
  EXPECT_EQ(mulaw.sample_rate_hz(), 8000);
  EXPECT_EQ(With(R"({"format":{"type":"audio/pcma"}})").encoding(), SampleEncoding::kAlaw);
  for (const int rate_hz : {16000, 96000}) {
    const std::string format =
        R"({"format":{"type":"audio/pcm","rate":)" + std::to_string(rate_hz) + "}}";
    EXPECT_EQ(With(format).sample_rate_hz(), rate_hz);
  }
  EXPECT_EQ(With(R"({"format":{"type":"audio/pcm","rate":null}})").sample_rate_hz(), 24000);
  OpenAiSession beta(OpenAiShape::kBeta, "7", "");
  beta.Apply({{"input_audio_format", "g711_alaw"}, {"modalities", {"text"}}});
  EXPECT_EQ(beta.encoding(), SampleEncoding::kAlaw);
  EXPECT_EQ(beta.AsJson()["input_audio_format"], "g711_alaw");
}

TEST(OpenAiSession, TurnDetection) {
  EXPECT_EQ(SilenceS(With(R"({"turn_detection":{"type":"server_vad",
                              "silence_duration_ms":800,"idle_timeout_ms":null}})")),
            0.8);
  const OpenAiSession least = With(R"({"turn_detection":{"silence_duration_ms":1}})");
  EXPECT_EQ(SilenceS(least), 0.1);
  EXPECT_EQ(least.AsJson()["audio"]["input"]["turn_detection"]["silence_duration_ms"], 100);
  double before = 1e9;
  for (const char* eagerness : {"low", "auto", "high"}) {
    const double silence_s =
        SilenceS(With(R"({"turn_detection":{"type":"semantic_vad","eagerness":")" +
                      std::string(eagerness) + R"("}})"));
    EXPECT_LT(silence_s, before) << eagerness;
    before = silence_s;
  }
  EXPECT_EQ(SilenceS(With(R"({"turn_detection":{"type":"semantic_vad"}})")), 1.2);
  const OpenAiSession manual = With(R"({"turn_detection":null})");
  EXPECT_FALSE(manual.has_turn_detection());
  EXPECT_FALSE(manual.MakeStart(Units()).options.values.stream.endpoints.enabled);
}

TEST(OpenAiSession, KeywordsAndPromptsAreHotwords) {
  const StartRequest start =
      With(R"({"transcription":{"language":"en","keywords":["zero two","xyzzy","#two",":two"],
               "prompt":"two, a sentence of far too many words to be a name"}})")
          .MakeStart(Units());
  ASSERT_NE(start.options.values.stream.search.hotwords, nullptr);
  EXPECT_EQ(start.options.values.stream.search.hotwords->text(), "zero two :0.75\ntwo :0.75\n");
  EXPECT_TRUE(start.options.Has("hotwords"));
  EXPECT_EQ(start.language_hint, "en");
  EXPECT_EQ(With(R"({"transcription":{"languages":["de","en"]}})").MakeStart(Units()).language_hint,
            "de");
  const StartRequest none = With(R"({"transcription":{"keywords":["xyzzy"]}})").MakeStart(Units());
  EXPECT_EQ(none.options.values.stream.search.hotwords, nullptr);
  EXPECT_FALSE(none.options.Has("hotwords"));
}

TEST(OpenAiSession, OnlyFieldsThatArePresentChange) {
  OpenAiSession session = With(
      R"({"transcription":{"model":"m","language":"en"},"noise_reduction":{"type":"far_field"}})");
  session.Apply(json::parse(
      R"({"audio":{"input":{"transcription":{"language":null,"prompt":"two"}}},"voice":"x"})"));
  const OrderedJson input = session.AsJson()["audio"]["input"];
  EXPECT_EQ(json(input["transcription"]), json({{"model", "m"}, {"prompt", "two"}}));
  EXPECT_EQ(input["noise_reduction"]["type"], "far_field");
  session.Apply(
      json::parse(R"({"audio":{"input":{"transcription":null,"noise_reduction":null}}})"));
  EXPECT_EQ(session.AsJson()["audio"]["input"]["transcription"], nullptr);
  EXPECT_EQ(session.AsJson()["audio"]["input"]["noise_reduction"], nullptr);
}

TEST(OpenAiSession, KnowsWhatTheStreamDependsOn) {
  EXPECT_TRUE(General().HasStreamOf(With(R"({"noise_reduction":{"type":"near_field"}})")));
  EXPECT_FALSE(General().HasStreamOf(With(R"({"turn_detection":null})")));
  EXPECT_FALSE(General().HasStreamOf(With(R"({"format":{"type":"audio/pcmu"}})")));
  EXPECT_FALSE(General().HasStreamOf(With(R"({"transcription":{"prompt":"two"}})")));
}

TEST(OpenAiSession, WrongValuesNameTheField) {
  struct Case {
    std::string input;
    std::string param;
  };
  const std::string base = "session.audio.input";
  for (const Case& c : std::vector<Case>{
           {"7", base},
           {R"({"format":7})", base + ".format"},
           {R"({"format":{"type":"audio/opus"}})", base + ".format.type"},
           {R"({"format":{"type":"audio/pcm","rate":999}})", base + ".format.rate"},
           {R"({"format":{"type":"audio/pcm","rate":768001}})", base + ".format.rate"},
           {R"({"format":{"type":"audio/pcm","rate":"16000"}})", base + ".format.rate"},
           {R"({"format":{"type":"audio/pcm","rate":true}})", base + ".format.rate"},
           {R"({"format":{"type":"audio/pcm","rate":16000.5}})", base + ".format.rate"},
           {R"({"format":{"type":"audio/pcmu","rate":16000}})", base + ".format.rate"},
           {R"({"transcription":"m"})", base + ".transcription"},
           {R"({"transcription":{"language":7}})", base + ".transcription.language"},
           {R"({"transcription":{"keywords":["a",7]}})", base + ".transcription.keywords"},
           {R"({"noise_reduction":"near_field"})", base + ".noise_reduction"},
           {R"({"turn_detection":"server_vad"})", base + ".turn_detection"},
           {R"({"turn_detection":{"type":"vad"}})", base + ".turn_detection.type"},
           {R"({"turn_detection":{"threshold":2}})", base + ".turn_detection.threshold"},
           {R"({"turn_detection":{"silence_duration_ms":"500"}})",
            base + ".turn_detection.silence_duration_ms"},
           {R"({"turn_detection":{"type":"semantic_vad","eagerness":"none"}})",
            base + ".turn_detection.eagerness"}}) {
    try {
      With(c.input);
      ADD_FAILURE() << c.input;
    } catch (const EventMistake& mistake) {
      EXPECT_EQ(mistake.param(), c.param) << c.input;
      EXPECT_EQ(mistake.code(), "invalid_value");
      EXPECT_NE(std::string(mistake.what()).find("expected"), std::string::npos);
    }
  }
  OpenAiSession session = General();
  EXPECT_THROW(session.Apply({{"type", "realtime"}}), EventMistake);
  EXPECT_THROW(session.Apply({{"include", 7}}), EventMistake);
}

}  // namespace
}  // namespace runnel::server
