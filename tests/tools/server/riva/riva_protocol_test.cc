#include "tools/server/riva/riva_protocol.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "riva_asr.pb.h"
#include "tests/support/ogg_file.h"
#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/riva/grpc_status.h"

namespace runnel::server {
namespace {

using nvidia::riva::LINEAR_PCM;
using nvidia::riva::asr::StreamingRecognizeRequest;
using nvidia::riva::asr::StreamingRecognizeResponse;
using testing::Binary;
using testing::EndedTwo;
using testing::FinalTwoZero;
using testing::Only;
using testing::Pcm16;
using testing::RunningZe;
using testing::Shown;
using testing::Text;
using testing::TwoZero;
using testing::Units;

constexpr int kRate = 8000;

RivaProtocol NewProtocol() { return {{&Units(), "tiny", {}, 16000}, "call-1"}; }

std::string Config(bool interim = true, int max_alternatives = 0, bool words = false) {
  StreamingRecognizeRequest request;
  auto* streaming = request.mutable_streaming_config();
  streaming->set_interim_results(interim);
  auto* config = streaming->mutable_config();
  config->set_encoding(LINEAR_PCM);
  config->set_sample_rate_hertz(kRate);
  config->set_max_alternatives(max_alternatives);
  config->set_enable_word_time_offsets(words);
  return request.SerializeAsString();
}

std::string Audio(const std::string& bytes, const std::string& id = "") {
  StreamingRecognizeRequest request;
  request.set_audio_content(bytes);
  if (!id.empty()) request.mutable_id()->set_value(id);
  return request.SerializeAsString();
}

StreamingRecognizeResponse Parsed(const std::string& bytes) {
  StreamingRecognizeResponse response;
  EXPECT_TRUE(response.ParseFromString(bytes));
  return response;
}

std::string WavHeader(char rate_low, char rate_high) {
  std::string header = "RIFF....WAVEfmt ";
  header += std::string("\x10\0\0\0\1\0\1\0", 8) + rate_low + rate_high;
  header += std::string("\0\0\0\0\0\0\2\0\x10\0", 10);
  return header + "data" + std::string(4, '\0');
}

// A message that holds 30 s in packets of one byte, which are 60 ms of silence each.
TEST(RivaProtocol, AMessageOfManyPartsIsReadInParts) {
  runnel::testing::OggStream stream;
  stream.packets.assign(500, "\x18");
  stream.rate_hz = 48000;
  stream.packet_granules = 2880;
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  const std::string message = Audio(runnel::testing::Ogg(stream));
  std::string_view rest = message;
  auto requests = protocol.Read(Binary(message));
  ASSERT_EQ(requests.size(), 3U);
  size_t num_samples = std::get<AudioRequest>(requests[1]).samples.size();
  size_t num_parts = 1;
  for (; std::holds_alternative<MoreRequest>(requests.back()); ++num_parts) {
    rest.remove_prefix(std::get<MoreRequest>(requests.back()).num_read);
    requests = protocol.ReadMore(rest);
    ASSERT_FALSE(requests.empty());
    num_samples += std::get<AudioRequest>(requests.front()).samples.size();
  }
  EXPECT_GT(num_parts, 2U);
  EXPECT_EQ(num_samples, 500U * 2880 - 312);
}

// The protocol keeps no copy of what its caller counts. Other fields may stand around the audio,
// which is the last field of its kind.
TEST(RivaProtocol, ALargeMessageIsHeldByTheCallerOnly) {
  const std::string samples(100000, 'a');
  const std::string message = Audio(std::string(1000, 'x')) + Audio(samples, "mine");
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  auto requests = protocol.Read(Binary(message));
  ASSERT_EQ(requests.size(), 3U);
  size_t num_samples = std::get<AudioRequest>(requests[1]).samples.size();
  std::string rest = message;
  while (std::holds_alternative<MoreRequest>(requests.back())) {
    const size_t num_read = std::get<MoreRequest>(requests.back()).num_read;
    EXPECT_GE(num_read, kPartBytes);
    rest = rest.substr(num_read);
    requests = protocol.ReadMore(rest);
    num_samples += std::get<AudioRequest>(requests.front()).samples.size();
  }
  EXPECT_EQ(num_samples, samples.size() / 2);
  EXPECT_LT(rest.size(), message.size() / 2);
}

TEST(RivaProtocol, StreamsBeginWithTheAudio) {
  RivaProtocol protocol = NewProtocol();
  EXPECT_STREQ(protocol.name(), "riva");
  EXPECT_EQ(Shown(protocol.Read(Binary(Config()))), "");
  const std::vector<ClientRequest> requests = protocol.Read(Binary(Audio(Pcm16({1, 2, 3}) + "x")));
  ASSERT_EQ(Shown(requests), "start; audio 3");
  const auto& start = std::get<StartRequest>(requests[0]);
  EXPECT_EQ(start.options.values.stream.sample_rate_hz, kRate);
  EXPECT_EQ(start.max_alternatives, 1);
  EXPECT_TRUE(start.options.values.stream.endpoints.enabled);
  EXPECT_FALSE(start.options.Has("hotwords"));
  EXPECT_EQ(Shown(protocol.Read(Binary(Audio("y")))), "audio 1");
  EXPECT_EQ(Shown(protocol.Read(Binary(Audio("")))), "");
  EXPECT_EQ(Shown(protocol.Read(Text(""))), "finish");
  EXPECT_EQ(Shown(protocol.Read(Binary(Audio("ab")))), "");
  EXPECT_TRUE(protocol.OnReady({}).empty());
}

std::string ForceEnd(const std::string& audio, const std::string& value = "true") {
  StreamingRecognizeRequest request;
  if (!audio.empty()) request.set_audio_content(audio);
  (*request.mutable_runtime_config())["force_eou"] = value;
  return request.SerializeAsString();
}

TEST(RivaProtocol, AClientMayEndAnUtterance) {
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  EXPECT_EQ(Shown(protocol.Read(Binary(ForceEnd("")))), "") << "no audio yet";
  EXPECT_EQ(Shown(protocol.Read(Binary(ForceEnd(Pcm16({1, 2}))))), "start; audio 2; flush");
  EXPECT_EQ(Shown(protocol.Read(Binary(Audio(Pcm16({3}))))), "audio 1") << "once only";
  EXPECT_EQ(Shown(protocol.Read(Binary(ForceEnd("")))), "flush");
  EXPECT_EQ(Shown(protocol.Read(Binary(ForceEnd(Pcm16({4}), "false")))), "audio 1");
  EXPECT_EQ(Shown(protocol.Read(Text(""))), "finish");
}

TEST(RivaProtocol, AClientMayEndAnUtteranceWithABool) {
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  const std::string field_3_true = "\x18\x01";
  const std::string field_3_false("\x18\x00", 2);
  EXPECT_EQ(Shown(protocol.Read(Binary(Audio(Pcm16({1})) + field_3_false))), "start; audio 1");
  EXPECT_EQ(Shown(protocol.Read(Binary(Audio(Pcm16({2})) + field_3_true))), "audio 1; flush");
}

// The audio of a long message comes in parts; the utterance ends after the last.
TEST(RivaProtocol, AnUtteranceEndsAfterAllAudioOfTheMessage) {
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  const std::string message = ForceEnd(std::string(5 * kPartBytes, 'a'));
  std::vector<ClientRequest> requests = protocol.Read(Binary(message));
  size_t num_parts = 1;
  for (std::string rest = message; std::holds_alternative<MoreRequest>(requests.back());
       ++num_parts) {
    rest = rest.substr(std::get<MoreRequest>(requests.back()).num_read);
    requests = protocol.ReadMore(rest);
  }
  EXPECT_GT(num_parts, 2U);
  EXPECT_TRUE(std::holds_alternative<FlushRequest>(requests.back()));
}

TEST(RivaProtocol, HeaderDecidesTheRate) {
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  const std::string file = WavHeader('\x22', '\x56') + Pcm16({1, 2, 3, 4});  // 22050 Hz
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(Shown(protocol.Read(Binary(Audio(file.substr(i, 1))))), "") << i;
  }
  const std::vector<ClientRequest> requests = protocol.Read(Binary(Audio(file.substr(20))));
  ASSERT_EQ(Shown(requests), "start; audio 4");
  EXPECT_EQ(std::get<StartRequest>(requests[0]).options.values.stream.sample_rate_hz, 0x5622);
}

TEST(RivaProtocol, EndsWithoutAudio) {
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  EXPECT_EQ(Shown(protocol.Read(Binary(Audio("")))), "");
  EXPECT_EQ(Shown(protocol.Read(Text(""))), "start; finish");
}

// Samples that may have been the beginning of a file.
TEST(RivaProtocol, EndsBeforeTheFormatIsKnown) {
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  EXPECT_EQ(Shown(protocol.Read(Binary(Audio("RIF")))), "");
  EXPECT_EQ(Shown(protocol.Read(Text(""))), "start; audio 1; finish");
}

TEST(RivaProtocol, Mistakes) {
  const std::vector<std::pair<std::vector<ClientMessage>, std::string>> cases = {
      {{Binary("\xFF\xFF")}, "error bad_message"},
      {{Text("")}, "error unsupported_order"},
  };
  for (const auto& [messages, expected] : cases) {
    RivaProtocol protocol = NewProtocol();
    for (const ClientMessage& message : messages) {
      EXPECT_EQ(Shown(protocol.Read(message)), expected);
    }
    EXPECT_EQ(Shown(protocol.Read(Binary(Config()))), "") << "nothing after a mistake";
  }
  RivaProtocol audio_first = NewProtocol();
  EXPECT_EQ(Shown(audio_first.Read(Binary(Audio("ab")))), "error unsupported_order");
  RivaProtocol twice = NewProtocol();
  EXPECT_EQ(Shown(twice.Read(Binary(Config()))), "");
  EXPECT_EQ(Shown(twice.Read(Binary(Config()))), "error unsupported_order");
  RivaProtocol greedy = NewProtocol();
  EXPECT_EQ(Shown(greedy.Read(Binary(Config(true, -1)))), "error bad_option");
}

TEST(RivaProtocol, InterimResults) {
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  EXPECT_TRUE(protocol.OnUpdate({}).empty());
  const std::vector<std::string> messages = protocol.OnUpdate(TwoZero());
  ASSERT_EQ(messages.size(), 1U);
  const StreamingRecognizeResponse response = Parsed(messages[0]);
  EXPECT_EQ(response.id().value(), "call-1");
  ASSERT_EQ(response.results_size(), 2);
  EXPECT_EQ(response.results(0).alternatives(0).transcript(), "two");
  EXPECT_FLOAT_EQ(response.results(0).stability(), 0.9F);
  EXPECT_EQ(response.results(1).alternatives(0).transcript(), " zero");
  EXPECT_FLOAT_EQ(response.results(1).stability(), 0.1F);
  for (const auto& result : response.results()) {
    EXPECT_FALSE(result.is_final());
    EXPECT_EQ(result.channel_tag(), 1);
    EXPECT_FLOAT_EQ(result.audio_processed(), 0.64F);
    EXPECT_EQ(result.alternatives(0).words_size(), 0);
    EXPECT_EQ(result.alternatives(0).confidence(), 0);
  }
}

TEST(RivaProtocol, InterimResultsHaveTheWholeTextOfTheUtterance) {
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  protocol.OnUpdate(TwoZero());
  LiveUpdate next;
  next.stable_text = " zero";
  next.stable_size_before = 3;
  next.stable_tokens_before = 1;
  const std::vector<std::string> messages = protocol.OnUpdate(next);
  ASSERT_EQ(messages.size(), 1U);
  ASSERT_EQ(Parsed(messages[0]).results_size(), 1);
  EXPECT_EQ(Parsed(messages[0]).results(0).alternatives(0).transcript(), "two zero");

  LiveUpdate ended = RunningZe(1);
  ended.utterances = {EndedTwo(0)};
  const std::vector<std::string> both = protocol.OnUpdate(ended);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_TRUE(Parsed(both[0]).results(0).is_final());
  EXPECT_EQ(Parsed(both[0]).results(0).alternatives(0).transcript(), "two ");
  EXPECT_EQ(Parsed(both[1]).results(0).alternatives(0).transcript(), "ze");
}

TEST(RivaProtocol, FinalResults) {
  for (const bool words : {false, true}) {
    RivaProtocol protocol = NewProtocol();
    protocol.Read(Binary(Config(/*interim=*/false, /*max_alternatives=*/2, words)));
    protocol.Read(Binary(Audio("", "mine")));
    EXPECT_TRUE(protocol.OnUpdate(TwoZero()).empty());
    LiveUpdate last = FinalTwoZero();
    last.utterances[0].nbest[0].language = "en-US";
    const std::vector<std::string> messages = protocol.OnUpdate(last);
    ASSERT_EQ(messages.size(), 1U);
    const StreamingRecognizeResponse response = Parsed(messages[0]);
    EXPECT_EQ(response.id().value(), "mine");
    ASSERT_EQ(response.results_size(), 1);
    const auto& result = response.results(0);
    EXPECT_TRUE(result.is_final());
    EXPECT_EQ(result.stability(), 0);
    EXPECT_FLOAT_EQ(result.audio_processed(), 1);
    ASSERT_EQ(result.alternatives_size(), 2);
    EXPECT_EQ(result.alternatives(0).transcript(), "two zero ");
    EXPECT_EQ(result.alternatives(1).transcript(), "two ");
    ASSERT_EQ(result.alternatives(0).language_code_size(), 1);
    EXPECT_EQ(result.alternatives(0).language_code(0), "en-US");
    EXPECT_EQ(result.alternatives(1).language_code_size(), 0);
    ASSERT_EQ(result.alternatives(0).words_size(), words ? 2 : 0);
    if (!words) continue;
    EXPECT_EQ(result.alternatives(0).words(1).word(), "zero");
    EXPECT_EQ(result.alternatives(0).words(1).start_time(), 320);
    EXPECT_EQ(result.alternatives(0).words(1).end_time(), 480);
    EXPECT_FLOAT_EQ(result.alternatives(0).words(1).confidence(), 0.75F);
  }
}

TEST(RivaProtocol, UtterancesWithoutTextAreNotSent) {
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  LiveUpdate nothing;
  nothing.is_final = true;
  nothing.utterances.resize(1);
  nothing.utterances[0].nbest.resize(1);
  EXPECT_TRUE(protocol.OnUpdate(nothing).empty());
}

TEST(RivaProtocol, ErrorsAreStatuses) {
  const RivaProtocol protocol = NewProtocol();
  const Closing closing =
      protocol.CloseAfter({ErrorCode::kDraining, "one\ntwo \xFF" + std::string(200, 'x')});
  EXPECT_EQ(closing.code, 14);
  EXPECT_EQ(closing.reason, "one two \\xff" + std::string(200, 'x'));
  EXPECT_EQ(GrpcStatus(ErrorCode::kBadOption), 3);
  EXPECT_EQ(GrpcStatus(ErrorCode::kIdleTimeout), 4);
  EXPECT_EQ(GrpcStatus(ErrorCode::kFull), 8);
  EXPECT_EQ(GrpcStatus(ErrorCode::kStreamFailed), 13);
  EXPECT_EQ(GrpcStatus(ErrorCode::kUnauthorized), 16);
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    EXPECT_GT(GrpcStatus(static_cast<ErrorCode>(code)), 0);
  }
}

TEST(RivaProtocol, InvalidUtf8OfTokensBecomesAReplacement) {
  RivaProtocol protocol = NewProtocol();
  protocol.Read(Binary(Config()));
  LiveUpdate update;
  update.tentative_text = "a\xC3";
  const std::vector<std::string> messages = protocol.OnUpdate(update);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(Parsed(messages[0]).results(0).alternatives(0).transcript(), "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace runnel::server
