#include "tools/server/dialects/openai_realtime_protocol.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/dialects/protocol_registry.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

using nlohmann::json;
using testing::Base64;
using testing::Binary;
using testing::EndedTwo;
using testing::Only;
using testing::OnlyMessage;
using testing::Pcm16;
using testing::RunningZe;
using testing::Shown;
using testing::Text;
using testing::TwoZero;
using testing::Units;

const std::string kDelta = "conversation.item.input_audio_transcription.delta";
const std::string kCompleted = "conversation.item.input_audio_transcription.completed";

Opening Opened(std::vector<std::pair<std::string, std::string>> query = {}) {
  Opening opening;
  opening.session_id = "7";
  opening.path = "/v1/realtime";
  opening.query = std::move(query);
  return opening;
}

Opening Beta() {
  Opening opening = Opened({{"intent", "transcription"}});
  opening.header = [](std::string_view name) {
    return std::string_view(name == "OpenAI-Beta" ? "realtime=v1" : "");
  };
  return opening;
}

// An append of so many samples at 24 kHz.
std::string Append(size_t num_samples) {
  const std::string bytes = Pcm16(std::vector<int16_t>(num_samples, 100));
  return R"({"type":"input_audio_buffer.append","audio":")" + Base64(bytes) + R"("})";
}

const char* const kManual =
    R"({"type":"session.update","session":{"type":"transcription","audio":{"input":{)"
    R"("turn_detection":null}}}})";

// Reads a message part by part, to its end, and returns its samples.
size_t ReadSamples(OpenAiRealtimeProtocol* protocol, const std::string& message) {
  std::string_view rest = message;
  size_t num_samples = 0;
  std::vector<ClientRequest> requests = protocol->Read(Text(message));
  for (;;) {
    for (const ClientRequest& request : requests) {
      const auto* const audio = std::get_if<AudioRequest>(&request);
      if (audio != nullptr) num_samples += audio->samples.size();
    }
    if (requests.empty() || !std::holds_alternative<MoreRequest>(requests.back())) break;
    rest.remove_prefix(std::get<MoreRequest>(requests.back()).num_read);
    requests = protocol->ReadMore(rest);
  }
  return num_samples;
}

json EventIn(const std::vector<ClientRequest>& requests) {
  return OnlyMessage({Only<ImmediateReply>(requests).text});
}

std::vector<json> Events(const std::vector<std::string>& texts) {
  std::vector<json> events;
  for (const std::string& text : texts) events.push_back(OnlyMessage({text}));
  return events;
}

std::string Types(const std::vector<json>& events) {
  std::string types;
  for (const json& event : events) {
    types += (types.empty() ? "" : " ") + event["type"].get<std::string>();
  }
  return types;
}

LiveUpdate Ended(std::vector<Utterance> utterances) {
  LiveUpdate update;
  update.utterance_index = utterances.back().index + 1;
  update.utterances = std::move(utterances);
  return update;
}

// "two", that a flush ended after utterance k - 1.
Utterance Flushed(int64_t index, const std::string& text = "two") {
  Utterance utterance = EndedTwo(index);
  utterance.end = UtteranceEnd::kFinalize;
  utterance.nbest[0].text = text;
  return utterance;
}

TEST(OpenAiRealtimeProtocol, IsChosenByItsPath) {
  EXPECT_STREQ(ChooseProtocol(Opened(), Units())->name(), "openai");
  Opening other = Opened();
  other.path = "/v1/realtimes";
  EXPECT_EQ(ChooseProtocol(other, Units()), nullptr);
}

TEST(OpenAiRealtimeProtocol, AnswersTheSubprotocolThatWasOffered) {
  Opening opening = Opened();
  EXPECT_EQ(OpenAiRealtimeProtocol(opening, Units()).subprotocol(), "");
  opening.subprotocols = {"openai-insecure-api-key.secret"};
  EXPECT_EQ(OpenAiRealtimeProtocol(opening, Units()).subprotocol(), "");
  opening.subprotocols = {"realtime", "openai-insecure-api-key.secret"};
  EXPECT_EQ(OpenAiRealtimeProtocol(opening, Units()).subprotocol(), "realtime");
}

TEST(OpenAiRealtimeProtocol, SpeaksFirst) {
  OpenAiRealtimeProtocol protocol(Opened({{"model", "digits"}}), Units());
  const json event = EventIn(protocol.Open());
  EXPECT_EQ(event["type"], "session.created");
  EXPECT_EQ(event["event_id"], "event_1");
  const json expected = json::parse(
      R"({"id":"sess_7","object":"realtime.transcription_session","type":"transcription",
          "include":null,"audio":{"input":{"format":{"type":"audio/pcm","rate":24000},
          "transcription":{"model":"digits"},"noise_reduction":null,"turn_detection":{
          "type":"server_vad","threshold":0.5,"prefix_padding_ms":300,
          "silence_duration_ms":500}}}})");
  EXPECT_EQ(event["session"], expected);
}

TEST(OpenAiRealtimeProtocol, SpeaksFirstInTheBetaShape) {
  OpenAiRealtimeProtocol protocol(Beta(), Units());
  const json event = EventIn(protocol.Open());
  EXPECT_EQ(event["type"], "transcription_session.created");
  EXPECT_EQ(event["session"]["input_audio_format"], "pcm16");
  Opening opening = Opened({{"model", "digits"}});
  opening.subprotocols = {"realtime", "openai-beta.realtime-v1"};
  OpenAiRealtimeProtocol other(opening, Units());
  const json created = EventIn(other.Open());
  EXPECT_EQ(created["type"], "session.created");
  EXPECT_EQ(created["session"]["input_audio_transcription"], json({{"model", "digits"}}));
}

TEST(OpenAiRealtimeProtocol, RefusesOtherSessions) {
  for (const auto& field : std::vector<std::pair<std::string, std::string>>{
           {"intent", "conversation"}, {"call_id", "rtc_1"}}) {
    const std::string code = field.first == "intent" ? "invalid_intent" : "invalid_parameter";
    OpenAiRealtimeProtocol protocol(Opened({field}), Units());
    const auto error = Only<ProtocolError>(protocol.Open());
    EXPECT_NE(error.message.find(field.first), std::string::npos) << error.message;
    EXPECT_EQ(OnlyMessage(protocol.OnError(error))["error"]["code"], code);
    EXPECT_EQ(protocol.CloseAfter(error).code, 4000);
    EXPECT_EQ(protocol.CloseAfter(error).reason, "invalid_request_error." + code);
    EXPECT_EQ(Shown(protocol.Read(Text(kManual))), "");
  }
}

TEST(OpenAiRealtimeProtocol, UtterancesOfServerVad) {
  OpenAiRealtimeProtocol protocol(Opened(), Units());
  protocol.Open();
  EXPECT_EQ(Shown(protocol.Read(Text(Append(2400)))), "start; audio 2400");
  EXPECT_TRUE(protocol.OnReady({}).empty());
  EXPECT_EQ(Shown(protocol.Read(Text(Append(100)))), "audio 100");

  const std::vector<json> running = Events(protocol.OnUpdate(TwoZero()));
  EXPECT_EQ(Types(running), "input_audio_buffer.speech_started " + kDelta);
  EXPECT_EQ(running[0]["audio_start_ms"], 0);
  EXPECT_EQ(running[0]["item_id"], "item_7_0");
  EXPECT_EQ(running[1]["delta"], "two") << "stable text only";
  EXPECT_EQ(running[1]["item_id"], "item_7_0");
  EXPECT_EQ(running[1]["content_index"], 0);

  Utterance utterance = EndedTwo(0);
  utterance.nbest[0].text = "two zero";
  const std::vector<json> ended = Events(protocol.OnUpdate(Ended({utterance})));
  EXPECT_EQ(Types(ended),
            "input_audio_buffer.speech_stopped input_audio_buffer.committed "
            "conversation.item.added conversation.item.done " +
                kDelta + " " + kCompleted);
  EXPECT_EQ(ended[0]["audio_end_ms"], 600);
  EXPECT_EQ(ended[1]["previous_item_id"], nullptr);
  const json item = json::parse(
      R"({"id":"item_7_0","object":"realtime.item","type":"message","role":"user",
          "status":"completed","content":[{"type":"input_audio","transcript":null}]})");
  EXPECT_EQ(ended[2]["item"], item);
  EXPECT_EQ(ended[4]["delta"], " zero");
  EXPECT_EQ(ended[5]["transcript"], "two zero");
  EXPECT_EQ(ended[5]["usage"], json({{"type", "duration"}, {"seconds", 0.6}}));

  // Two more in one update: everything about the first comes before the second.
  const std::vector<json> more = Events(protocol.OnUpdate(Ended({EndedTwo(1), EndedTwo(2)})));
  const std::string types =
      "input_audio_buffer.speech_started input_audio_buffer.speech_stopped "
      "input_audio_buffer.committed conversation.item.added conversation.item.done " +
      kDelta + " " + kCompleted;
  EXPECT_EQ(Types(more), types + " " + types);
  EXPECT_EQ(more[0]["audio_start_ms"], 740) << "300 ms before the first token";
  EXPECT_EQ(more[2]["previous_item_id"], "item_7_0");
  EXPECT_EQ(more[9]["previous_item_id"], "item_7_1");
  EXPECT_EQ(more[13]["usage"]["seconds"], 1.0);
}

TEST(OpenAiRealtimeProtocol, BetaHasItsOwnItemEvent) {
  OpenAiRealtimeProtocol protocol(Beta(), Units());
  protocol.Read(Text(Append(2400)));
  EXPECT_EQ(Types(Events(protocol.OnUpdate(Ended({EndedTwo(0)})))),
            "input_audio_buffer.speech_started input_audio_buffer.speech_stopped "
            "input_audio_buffer.committed conversation.item.created " +
                kDelta + " " + kCompleted);
}

TEST(OpenAiRealtimeProtocol, CommitsEndItemsWithoutTurnDetection) {
  OpenAiRealtimeProtocol protocol(Opened(), Units());
  const json updated = EventIn(protocol.Read(Text(kManual)));
  EXPECT_EQ(updated["type"], "session.updated");
  EXPECT_EQ(updated["session"]["audio"]["input"]["turn_detection"], nullptr);
  const auto requests = protocol.Read(Text(Append(2399)));
  EXPECT_FALSE(std::get<StartRequest>(requests.at(0)).options.values.stream.endpoints.enabled);
  const char* const commit = R"({"type":"input_audio_buffer.commit","event_id":"c1"})";
  const json empty = EventIn(protocol.Read(Text(commit)));
  EXPECT_EQ(empty["error"]["code"], "input_audio_buffer_commit_empty");
  EXPECT_EQ(empty["error"]["type"], "invalid_request_error");
  EXPECT_EQ(empty["error"]["event_id"], "c1");
  EXPECT_EQ(empty["error"]["param"], nullptr);
  protocol.Read(Text(Append(1)));
  EXPECT_EQ(Shown(protocol.Read(Text(commit))), "flush");
  EXPECT_EQ(EventIn(protocol.Read(Text(commit)))["error"]["code"],
            "input_audio_buffer_commit_empty");
  EXPECT_EQ(Types(Events(protocol.OnUpdate(Ended({Flushed(0)})))),
            "input_audio_buffer.committed conversation.item.added conversation.item.done " +
                kDelta + " " + kCompleted);
  // Silence is an item without text.
  protocol.Read(Text(Append(24000)));
  protocol.Read(Text(commit));
  const std::vector<json> silent = Events(protocol.OnUpdate(Ended({Flushed(1, "")})));
  EXPECT_EQ(
      Types(silent),
      "input_audio_buffer.committed conversation.item.added conversation.item.done " + kCompleted);
  EXPECT_EQ(silent.back()["transcript"], "");
}

TEST(OpenAiRealtimeProtocol, ClearDropsWhatWasNotCommitted) {
  OpenAiRealtimeProtocol protocol(Opened(), Units());
  protocol.Read(Text(kManual));
  const char* const clear = R"({"type":"input_audio_buffer.clear"})";
  EXPECT_EQ(EventIn(protocol.Read(Text(clear)))["type"], "input_audio_buffer.cleared");
  protocol.Read(Text(Append(24000)));
  const auto requests = protocol.Read(Text(clear));
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<FlushRequest>(requests[1]));
  // A late update of the dropped audio, then its end, and text of the audio after it.
  EXPECT_TRUE(protocol.OnUpdate(RunningZe(0)).empty());
  LiveUpdate update = RunningZe(1);
  update.utterances = {Flushed(0)};
  const std::vector<json> events = Events(protocol.OnUpdate(update));
  EXPECT_EQ(Types(events), kDelta);
  EXPECT_EQ(events[0]["item_id"], "item_7_1");
}

// The server may have ended utterances in the cleared audio that the client was not told of.
TEST(OpenAiRealtimeProtocol, ClearDropsWhatTheServerEnded) {
  OpenAiRealtimeProtocol protocol(Opened(), Units());
  const char* const clear = R"({"type":"input_audio_buffer.clear"})";
  protocol.Read(Text(Append(14400)));  // 0.6 s, where EndedTwo(0) ends
  protocol.Read(Text(R"({"type":"input_audio_buffer.commit"})"));
  // Up to 3.6 s, where EndedTwo(3) ends.
  EXPECT_EQ(ReadSamples(&protocol, Append(72000)), 72000U);
  protocol.Read(Text(clear));
  // The committed item, two utterances of the cleared audio, and the text of the third.
  LiveUpdate update = TwoZero();
  update.utterances = {Flushed(0), EndedTwo(1), EndedTwo(2)};
  update.utterance_index = 3;
  const std::vector<json> first = Events(protocol.OnUpdate(update));
  EXPECT_EQ(first.back()["item_id"], "item_7_0");
  EXPECT_EQ(first.back()["type"], kCompleted);
  EXPECT_TRUE(protocol.OnUpdate(Ended({Flushed(3)})).empty());
  // The next item is whole.
  update = TwoZero();
  update.utterance_index = 4;
  const std::vector<json> running = Events(protocol.OnUpdate(update));
  EXPECT_EQ(Types(running), "input_audio_buffer.speech_started " + kDelta);
  Utterance last = EndedTwo(4);
  last.nbest[0].text = "two zero";
  const std::vector<json> ended = Events(protocol.OnUpdate(Ended({last})));
  EXPECT_EQ(ended[ended.size() - 2]["delta"], " zero");
  EXPECT_EQ(ended.back()["transcript"], "two zero");
}

// The item's audio ends where the client committed, not at the last whole encoder frame.
TEST(OpenAiRealtimeProtocol, UsageIsTheAudioThatWasCommitted) {
  OpenAiRealtimeProtocol protocol(Opened(), Units());
  protocol.Read(Text(kManual));
  for (int i = 0; i < 2; ++i) {
    protocol.Read(Text(Append(24240)));  // 1.01 s
    protocol.Read(Text(R"({"type":"input_audio_buffer.commit"})"));
  }
  const std::vector<json> events = Events(protocol.OnUpdate(Ended({Flushed(0), Flushed(1)})));
  ASSERT_EQ(events.size(), 10U);
  EXPECT_EQ(events[4]["usage"]["seconds"], 1.01);
  EXPECT_EQ(events[9]["usage"]["seconds"], 1.01);
}

// An update that answers two commits, of which one ended nothing, does not say which.
TEST(OpenAiRealtimeProtocol, CommitsAreMatchedByTime) {
  for (const bool is_first_empty : {false, true}) {
    OpenAiRealtimeProtocol protocol(Opened(), Units());
    protocol.Read(Text(Append(14400)));  // 0.6 s, where EndedTwo(0) ends
    protocol.Read(Text(R"({"type":"input_audio_buffer.commit","event_id":"first"})"));
    protocol.Read(Text(Append(24000)));  // up to 1.6 s, where EndedTwo(1) ends
    protocol.Read(Text(R"({"type":"input_audio_buffer.commit","event_id":"second"})"));
    LiveUpdate update = Ended({Flushed(is_first_empty ? 1 : 0)});
    update.num_empty_finalizations = 1;
    const std::vector<json> events = Events(protocol.OnUpdate(update));
    const json& error = is_first_empty ? events.front() : events.back();
    ASSERT_EQ(error["type"], "error") << Types(events);
    EXPECT_EQ(error["error"]["code"], "input_audio_buffer_commit_empty");
    EXPECT_EQ(error["error"]["event_id"], is_first_empty ? "first" : "second");
  }
}

TEST(OpenAiRealtimeProtocol, MistakesLeaveTheSessionOpen) {
  struct Case {
    std::string text;
    std::string code;
    json param;
  };
  for (const Case& c : std::vector<Case>{
           {"{", "invalid_event", nullptr},
           {"[]", "invalid_event", nullptr},
           {R"({"event_id":"e"})", "invalid_event", "type"},
           {R"({"type":7,"event_id":"e"})", "invalid_event", "type"},
           {R"({"type":"response.create","event_id":"e"})", "invalid_value", "type"},
           {R"({"type":"input_audio_buffer.append","event_id":"e"})", "invalid_value", "audio"},
           {R"({"type":"input_audio_buffer.append","audio":"a b=","event_id":"e"})",
            "invalid_value", "audio"},
           {R"({"type":"input_audio_buffer.append","audio":"abc","event_id":"e"})", "invalid_value",
            "audio"},
           {R"({"type":"input_audio_buffer.commit","event_id":"e"})",
            "input_audio_buffer_commit_empty", nullptr},
           {R"({"type":"session.update","event_id":"e"})", "invalid_value", "session"},
           {R"({"type":"session.update","session":[],"event_id":"e"})", "invalid_value", "session"},
           {R"({"type":"session.update","session":{"type":"realtime"},"event_id":"e"})",
            "invalid_parameter", "session.type"}}) {
    OpenAiRealtimeProtocol protocol(Opened(), Units());
    const json event = EventIn(protocol.Read(Text(c.text)));
    EXPECT_EQ(event["type"], "error") << c.text;
    EXPECT_EQ(event["error"]["type"], "invalid_request_error") << c.text;
    EXPECT_EQ(event["error"]["code"], c.code) << c.text.substr(0, 200);
    EXPECT_EQ(event["error"]["param"], c.param) << c.text.substr(0, 200);
    EXPECT_EQ(event["error"]["event_id"], c.text.size() > 2 ? json("e") : json(nullptr));
    EXPECT_EQ(Shown(protocol.Read(Text(Append(1)))), "start; audio 1");
  }
  OpenAiRealtimeProtocol protocol(Opened(), Units());
  EXPECT_EQ(EventIn(protocol.Read(Binary("xx")))["error"]["code"], "invalid_event");
  // Only an append may be so long. Of another event, no more than its size is looked at.
  const std::string large(kMaxControlBytes, 'x');
  const json event = EventIn(protocol.Read(
      Text(R"({"type":"session.update","session":{"x":")" + large + R"("},"event_id":"e"})")));
  EXPECT_EQ(event["error"]["code"], "invalid_event");
  EXPECT_EQ(ReadSamples(&protocol, Append(1)), 1U);
}

TEST(OpenAiRealtimeProtocol, WhatTheStreamDependsOnIsFixedByTheFirstAudio) {
  OpenAiRealtimeProtocol protocol(Opened(), Units());
  protocol.Read(Text(Append(1)));
  EXPECT_EQ(EventIn(protocol.Read(Text(kManual)))["error"]["code"], "invalid_parameter");
  const json event = EventIn(protocol.Read(Text(
      R"({"type":"session.update","session":{"audio":{"input":{"noise_reduction":{
          "type":"near_field"},"turn_detection":{"type":"server_vad"}}}}})")));
  EXPECT_EQ(event["type"], "session.updated");
  EXPECT_EQ(event["session"]["audio"]["input"]["noise_reduction"]["type"], "near_field");
}

TEST(OpenAiRealtimeProtocol, LargeMessagesAndSplitSamples) {
  const OpenAiRealtimeProtocol protocol(Opened(), Units());
  EXPECT_GE(protocol.MaxMessageBytes(size_t{1} << 20), Append((15 << 20) / 2).size());
  OpenAiRealtimeProtocol other(Opened(), Units());
  EXPECT_EQ(ReadSamples(&other, Append(100000)), 100000U);
  const std::string odd = R"({"type":"input_audio_buffer.append","audio":")";
  EXPECT_EQ(Shown(other.Read(Text(odd + Base64("abc") + "\"}"))), "audio 1");
  EXPECT_EQ(Shown(other.Read(Text(odd + Base64("d") + "\"}"))), "audio 1");
}

// Everything after the first bytes is a part of the file: one error, not one for each append.
TEST(OpenAiRealtimeProtocol, AFileInPlaceOfSamplesEndsTheSession) {
  const std::string file = "RIFF" + std::string(4, '\1') + "WAVEfmt " + std::string(40000, '\1');
  for (const size_t first_bytes : {size_t{10}, size_t{100}, file.size()}) {
    OpenAiRealtimeProtocol protocol(Opened(), Units());
    std::vector<std::string> errors;
    for (size_t begin = 0; begin < file.size(); begin += first_bytes) {
      const std::string append = R"({"type":"input_audio_buffer.append","audio":")" +
                                 Base64(file.substr(begin, first_bytes)) + R"("})";
      for (const ClientRequest& request : protocol.Read(Text(append))) {
        if (const auto* error = std::get_if<ProtocolError>(&request)) {
          EXPECT_EQ(error->code, ErrorCode::kBadMessage);
          errors.push_back(error->message);
        }
        EXPECT_FALSE(std::holds_alternative<ImmediateReply>(request));
        EXPECT_FALSE(std::holds_alternative<MoreRequest>(request));
      }
    }
    EXPECT_EQ(errors,
              std::vector<std::string>{
                  "the audio is a WAV file of 16843009 Hz, expected pcm16 without a header"});
    EXPECT_TRUE(protocol.Read(Text(Append(1))).empty());
  }
}

TEST(OpenAiRealtimeProtocol, FatalErrors) {
  OpenAiRealtimeProtocol protocol(Opened(), Units());
  protocol.Read(Text(Append(1)));
  const json event = OnlyMessage(protocol.OnError({ErrorCode::kTimeLimit, "too long"}));
  EXPECT_EQ(event["error"]["code"], "session_expired");
  EXPECT_EQ(event["error"]["message"], "too long");
  EXPECT_EQ(protocol.CloseAfter({ErrorCode::kTimeLimit, ""}).reason,
            "invalid_request_error.session_expired");
  EXPECT_EQ(protocol.CloseAfter({ErrorCode::kDraining, ""}).reason, "server_error.draining");
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    EXPECT_LE(protocol.CloseAfter({static_cast<ErrorCode>(i), ""}).reason.size(), 123U);
  }
  OpenAiRealtimeProtocol failing(Opened(), Units());
  failing.Read(Text(Append(1)));
  LiveUpdate failed;
  failed.error = "no number";
  failed.is_final = true;
  failed.utterances = {EndedTwo(0)};
  const std::vector<json> events = Events(failing.OnUpdate(failed));
  ASSERT_GE(events.size(), 2U);
  EXPECT_EQ(events[events.size() - 2]["type"], kCompleted) << "what ended before comes first";
  EXPECT_EQ(events.back()["error"]["type"], "server_error");
}

// However updates are merged, the deltas of an item joined are its transcript.
TEST(OpenAiRealtimeProtocol, MergedUpdatesGiveTheSameText) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    OpenAiRealtimeProtocol protocol(Opened(), Units());
    protocol.Read(Text(Append(2400)));
    std::vector<LiveUpdate> updates;
    for (int64_t index = 0; index < 3; ++index) {
      LiveUpdate running = TwoZero();
      running.utterance_index = index;
      updates.push_back(running);
      running.stable_size_before = 3;
      running.stable_tokens_before = 1;
      running.stable_text = " ze";
      updates.push_back(running);
      Utterance utterance = EndedTwo(index);
      utterance.nbest[0].text = "two zero";
      updates.push_back(Ended({utterance}));
    }
    std::vector<json> events;
    for (size_t i = 0; i < updates.size();) {
      LiveUpdate merged = updates[i++];
      while (i < updates.size() && random() % 2 == 0) merged.Append(updates[i++]);
      for (json& event : Events(protocol.OnUpdate(merged))) events.push_back(std::move(event));
    }
    std::vector<std::string> texts(3);
    std::string others;
    for (const json& event : events) {
      if (event["type"] == kDelta) {
        const auto item = event["item_id"].get<std::string>();
        texts.at(static_cast<size_t>(item.back() - '0')) += event["delta"].get<std::string>();
      } else {
        others += event["type"].get<std::string>() + "\n";
      }
    }
    EXPECT_EQ(texts, std::vector<std::string>(3, "two zero"));
    const std::string item =
        "input_audio_buffer.speech_started\ninput_audio_buffer.speech_stopped\n"
        "input_audio_buffer.committed\nconversation.item.added\nconversation.item.done\n" +
        kCompleted + "\n";
    EXPECT_EQ(others, item + item + item);
  }
}

}  // namespace
}  // namespace runnel::server
