#include "tools/server/riva/riva_config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "frontend/audio_reader.h"
#include "runtime/hotwords.h"
#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/riva/riva_models.h"
#include "tools/server/riva/riva_recording.h"

namespace runnel::server {
namespace {

using nvidia::riva::asr::RecognitionConfig;
using testing::Pcm16;
using testing::Units;

RivaModel Tiny(std::vector<std::string> languages = {}) {
  return {&Units(), "tiny", std::move(languages), 16000};
}

std::string MistakeOf(const RecognitionConfig& config) {
  try {
    ReadRivaConfig(config, Tiny());
    MakeRivaDecoder(config, Tiny());
  } catch (const ClientMistake& mistake) {
    EXPECT_EQ(mistake.code(), ErrorCode::kBadOption);
    return mistake.what();
  }
  return "";
}

TEST(RivaConfig, Defaults) {
  const StartRequest start = ReadRivaConfig({}, Tiny());
  EXPECT_EQ(start.max_alternatives, 1);
  EXPECT_FALSE(start.options.Has("hotwords"));
  EXPECT_TRUE(start.options.values.stream.endpoints.enabled);
  EXPECT_EQ(start.options.values.stream.endpoints.rules[EndpointOptions::kSilence].min_silence_s,
            EndpointOptions().rules[EndpointOptions::kSilence].min_silence_s);
  EXPECT_EQ(start.options.values.stream.search.hotwords, nullptr);
  EXPECT_FALSE(start.options.Has("language"));
  EXPECT_EQ(PartsOf({}, Tiny()).max_alternatives, 1U);
  EXPECT_FALSE(PartsOf({}, Tiny()).words);
}

TEST(RivaConfig, Alternatives) {
  RecognitionConfig config;
  config.set_max_alternatives(20);
  const StartRequest start = ReadRivaConfig(config, Tiny());
  EXPECT_EQ(start.max_alternatives, 20);
  EXPECT_FALSE(start.options.Has("beam_size"));
  EXPECT_EQ(PartsOf(config, Tiny()).max_alternatives, 20U);
}

TEST(RivaConfig, BoostsAreScores) {
  RecognitionConfig config;
  auto* context = config.add_speech_contexts();
  context->add_phrases("two zero");
  context->add_phrases("zero");
  context->add_phrases(" \n");
  auto* other = config.add_speech_contexts();
  other->add_phrases("two\n two :9");
  other->set_boost(20);
  const StartRequest start = ReadRivaConfig(config, Tiny());
  EXPECT_TRUE(start.options.Has("hotwords"));
  ASSERT_NE(start.options.values.stream.search.hotwords, nullptr);
  const Hotwords& hotwords = *start.options.values.stream.search.hotwords;
  EXPECT_EQ(hotwords.text(), "two zero :0.75\nzero :0.75\n");
  EXPECT_EQ(hotwords.num_phrases(), 2U) << "no token spells ':9'";
}

TEST(RivaConfig, StopHistoryIsTheSilenceOfAnEndpoint) {
  RecognitionConfig config;
  config.mutable_endpointing_config()->set_stop_history(700);
  config.mutable_endpointing_config()->set_start_history(300);
  const EndpointOptions endpoints = ReadRivaConfig(config, Tiny()).options.values.stream.endpoints;
  EXPECT_DOUBLE_EQ(endpoints.rules[EndpointOptions::kSilence].min_silence_s, 0.7);
  EXPECT_DOUBLE_EQ(endpoints.rules[EndpointOptions::kInitialSilence].min_silence_s, 2.4);
}

TEST(RivaConfig, Languages) {
  const auto language_of = [](const char* code, std::vector<std::string> languages) {
    RecognitionConfig config;
    config.set_language_code(code);
    return ReadRivaConfig(config, Tiny(std::move(languages))).options.values.stream.language;
  };
  EXPECT_EQ(language_of("en-US", {}), "");
  EXPECT_EQ(language_of("", {"en", "de"}), "");
  EXPECT_EQ(language_of("en-US", {"en", "de"}), "en");
  EXPECT_EQ(language_of("en-US", {"en-US", "en"}), "en-US");
  EXPECT_EQ(language_of("en", {"de-DE", "en-US"}), "en-US");
  EXPECT_EQ(language_of("fr-FR", {"en", "de"}), "fr-FR");
}

TEST(RivaConfig, Refusals) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<std::string, std::function<void(RecognitionConfig*)>>> cases = {
      {"", [](auto*) {}},
      {"", [](auto* config) { config->set_model("tiny"); }},
      {"config.model is 'a b', expected 'tiny' or nothing",
       [](auto* config) { config->set_model("a\nb"); }},
      {"", [](auto* config) { config->set_max_alternatives(101); }},
      {"config.max_alternatives is -1, expected 0 or more",
       [](auto* config) { config->set_max_alternatives(-1); }},
      {"config.speech_contexts.boost is nan, expected -100 to 100",
       [nan](auto* config) { config->add_speech_contexts()->set_boost(nan); }},
      {"config.sample_rate_hertz is 1, expected 0 (that of the model) or 1000 to 768000",
       [](auto* config) {
         config->set_encoding(nvidia::riva::LINEAR_PCM);
         config->set_sample_rate_hertz(1);
       }},
      {"config.audio_channel_count is 33, expected 0 to 32",
       [](auto* config) {
         config->set_encoding(nvidia::riva::MULAW);
         config->set_audio_channel_count(33);
       }},
  };
  for (const auto& [expected, change] : cases) {
    RecognitionConfig config;
    change(&config);
    EXPECT_EQ(MistakeOf(config), expected);
  }
}

TEST(RivaConfig, RecordingsWithoutAHeaderGetOne) {
  RecognitionConfig config;
  config.set_sample_rate_hertz(8000);
  for (const auto encoding : {nvidia::riva::LINEAR_PCM, nvidia::riva::MULAW, nvidia::riva::ALAW}) {
    config.set_encoding(encoding);
    for (const int channels : {0, 1, 2}) {
      config.set_audio_channel_count(channels);
      const std::string file = RecordingFile(config, std::string(400, '\x11'), Tiny());
      const AudioReader reader = AudioReader::FromBytes(file, "file");
      EXPECT_EQ(reader.sample_rate_hz(), 8000);
      EXPECT_EQ(reader.num_channels(), std::max(1, channels));
      const int frame_size = std::max(1, channels) * (encoding == nvidia::riva::LINEAR_PCM ? 2 : 1);
      EXPECT_EQ(reader.num_samples(), 400 / frame_size);
    }
  }
  for (const char* header : {"RIFF1234WAVE", "fLaC", "OggS", "\x1A\x45\xDF\xA3", "ID3\4"}) {
    EXPECT_EQ(RecordingFile(config, header, Tiny()), header);
  }
  config.set_encoding(nvidia::riva::ENCODING_UNSPECIFIED);
  EXPECT_EQ(RecordingFile(config, "ID3", Tiny()), "ID3");
}

TEST(RivaRecording, IsReadFromAMessage) {
  nvidia::riva::asr::RecognizeRequest request;
  request.mutable_config()->set_encoding(nvidia::riva::LINEAR_PCM);
  request.mutable_config()->set_max_alternatives(2);
  request.set_audio("abcd");
  const RivaRecordingRequest read = ReadRivaRecording(request.SerializeAsString(), Tiny(), "call");
  EXPECT_EQ(read.recording.audio(), RecordingFile(request.config(), "abcd", Tiny()));
  EXPECT_EQ(read.recording.start.max_alternatives, 2);
  EXPECT_EQ(read.parts.max_alternatives, 2U);
  EXPECT_EQ(read.id, "call");
  request.mutable_id()->set_value(std::string(1000, 'x'));
  EXPECT_EQ(ReadRivaRecording(request.SerializeAsString(), Tiny(), "call").id,
            std::string(256, 'x'));
  EXPECT_THROW(ReadRivaRecording("\xff", Tiny(), "call"), ClientMistake);
}

TEST(RivaModels, AreListedWithTheParametersThatClientsRequire) {
  nvidia::riva::asr::RivaSpeechRecognitionConfigResponse response;
  EXPECT_FALSE(ListModels({}, Tiny({"en", "de"}), &response).has_value());
  ASSERT_EQ(response.model_config_size(), 2);
  for (const auto& config : response.model_config()) {
    EXPECT_EQ(config.model_name(), "tiny");
    EXPECT_EQ(config.parameters().at("language_code"), "en,de");
  }
  EXPECT_EQ(response.model_config(0).parameters().at("type"), "online");
  EXPECT_EQ(response.model_config(1).parameters().at("type"), "offline");
}

}  // namespace
}  // namespace runnel::server
