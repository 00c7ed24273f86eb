// Random messages in any order: no exception, a bounded number of requests, only valid text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "frontend/sample_range.h"
#include "runtime/text/utf8.h"
#include "tests/tools/server/dialects/protocol_conversation.h"
#include "tools/server/dialects/protocol_registry.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server {
namespace {

using testing::Units;

const std::vector<std::string>& Scraps() {
  static const std::vector<std::string> scraps = {
      R"({"type":"start","version":1})",
      R"({"type":"start","version":1,"encoding":"float32","nbest":3,"resume":true})",
      R"({"type":"start","version":1,"endpointing":{"silence_s":0.5,"reset_encoder":true}})",
      R"({"type":"start","version":1,"encoding":"mulaw"})",
      R"({"type":"start","version":1,"encoding":"opus"})",
      R"({"type":"resume","version":1,"token":"abc"})",
      R"({"type":"resume","version":1,"token":"abc","utterances":2})",
      R"({"type":"flush"})",
      R"({"type":"finish"})",
      R"({"type":"ping","id":1e9})",
      R"({"type":"cancel"})",
      R"({"signal":"start","nbest":2,"continuous_decoding":true})",
      R"({"signal":"end"})",
      R"({"config":{"sample_rate":16000,"max_alternatives":2,"phrase_list":["two"]}})",
      R"({"eof" : 1})",
      R"({"reset" : 1})",
      R"({"type":"Finalize"})",
      R"({"type":"CloseStream"})",
      std::string("RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x80\x3E\0\0\0\x7D\0\0\2\0\x10\0", 36),
      std::string("data\4\0\0\0", 8),
      "OggS",
      R"({"type":"input_audio_buffer.append","audio":")" + std::string(6400, 'A') + "\"}",
      R"({"type":"input_audio_buffer.commit","event_id":"c"})",
      R"({"type":"input_audio_buffer.clear"})",
      R"({"type":"session.update","session":{"audio":{"input":{"turn_detection":null}}}})",
      "Done",
      "{\"type\":",
      "[[[[",
      "\xF0\x9F\x98\x80",
      "\xC0\xAF",
      "",
      std::string("\x7B\x02", 2) + std::string(100, 'x'),  // two Opus frames
      std::string("\0\0\x80\x3F", 4),
      std::string("\0\0\xC0\x7F", 4)};
  return scraps;
}

// One or two of Scraps(), sometimes with a byte changed, removed or inserted.
std::string RandomBytes(std::mt19937* random) {
  std::string bytes = Scraps()[(*random)() % Scraps().size()];
  if ((*random)() % 8 == 0) bytes += Scraps()[(*random)() % Scraps().size()];
  if ((*random)() % 3 != 0 || bytes.empty()) return bytes;
  const size_t at = (*random)() % bytes.size();
  switch ((*random)() % 3) {
    case 0:
      bytes[at] = static_cast<char>((*random)());
      break;
    case 1:
      bytes.resize(at);
      break;
    default:
      bytes.insert(at, 1, static_cast<char>((*random)()));
  }
  return bytes;
}

// `next_index`: of the next utterance to end.
LiveUpdate RandomUpdate(int64_t* next_index, std::mt19937* random) {
  LiveUpdate update;
  update.stable_text = RandomBytes(random);
  update.tentative_text = RandomBytes(random);
  for (size_t i = (*random)() % 4; i > 0; --i) {
    update.tokens.push_back(testing::TokenAt(static_cast<int32_t>((*random)() % 5), 0, 40));
  }
  update.num_stable_tokens = update.tokens.empty() ? 0 : (*random)() % update.tokens.size();
  update.is_final = (*random)() % 8 == 0;
  const size_t num_ended = (*random)() % 4 == 0 ? 1 + (*random)() % 3 : 0;
  update.utterances.resize(std::max<size_t>(update.is_final ? 1 : 0, num_ended));
  for (Utterance& utterance : update.utterances) {
    utterance.index = (*next_index)++;
    utterance.end = static_cast<UtteranceEnd>((*random)() % 4);
    utterance.nbest.resize(1 + (*random)() % 3);
    for (Hypothesis& hypothesis : utterance.nbest) hypothesis.text = RandomBytes(random);
  }
  update.utterance_index = *next_index;
  if (update.is_final) {
    if ((*random)() % 4 == 0) update.error = RandomBytes(random);
  }
  return update;
}

void ExpectValid(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    ASSERT_TRUE(IsUtf8(text)) << text;
    ASSERT_TRUE(text == "Done!" || nlohmann::json::accept(text)) << text;
  }
}

// Null in most cases: the first message decides.
std::unique_ptr<Protocol> ChooseByOpening(std::mt19937* random) {
  const std::vector<Opening> openings = {
      {"id", "/v1/listen", {{"interim_results", "true"}, {"utterance_end_ms", "1000"}}, {}},
      {"id", "/v1/listen", {{"encoding", "linear16"}, {"sample_rate", "16000"}}, {"token"}},
      {"id", "/vosk", {}, {"ws"}},
      {"id", "/v1/realtime", {{"intent", "transcription"}}, {"realtime"}},
      {"id", "/", {}, {}}};
  // Every second leaves the choice to the first message.
  return ChooseProtocol(openings[std::min((*random)() % 8, openings.size() - 1)], Units());
}

void Converse(std::mt19937* random) {
  const std::string first = RandomBytes(random);
  const ClientMessage first_message{(*random)() % 4 != 0, first};
  std::unique_ptr<Protocol> protocol = ChooseByOpening(random);
  const bool is_chosen_by_opening = protocol != nullptr;
  std::vector<ClientRequest> requests;
  if (is_chosen_by_opening) {
    requests = protocol->Open();
  } else {
    protocol = ReadFirstMessage(first_message, Units(), &requests);
  }
  if (protocol == nullptr) {
    const auto& error = std::get<ProtocolError>(requests.at(0));
    ExpectValid({ErrorText(error), HttpErrorBody(400, CodeName(error.code), error.message)});
    return;
  }
  bool has_started = false;
  bool is_over = false;
  int64_t next_index = 0;
  for (int turn = 0; turn < 12; ++turn) {
    ASSERT_LE(requests.size(), 3U);
    ASSERT_TRUE(!is_over || requests.empty());
    for (const ClientRequest& request : requests) {
      const bool is_start = std::holds_alternative<StartRequest>(request) ||
                            std::holds_alternative<ResumeRequest>(request);
      if (is_start) {
        ASSERT_FALSE(has_started) << "a second start was accepted";
        has_started = true;
        SessionInfo info;
        info.text_tokens = &testing::Units();
        info.options.sample_rate_hz = 16000;
        ExpectValid(protocol->OnReady(info));
        ExpectValid(protocol->OnUtterances({testing::EndedTwo(next_index++)}));
      } else if (const auto* audio = std::get_if<AudioRequest>(&request)) {
        ASSERT_TRUE(has_started);
        for (const float sample : audio->samples) ASSERT_LE(std::abs(sample), kMaxAmplitude);
      } else if (const auto* mistake = std::get_if<ProtocolError>(&request)) {
        ExpectValid(protocol->OnError(*mistake));
        is_over = true;
      } else if (const auto* reply = std::get_if<ImmediateReply>(&request)) {
        ExpectValid({reply->text});
      } else if (std::holds_alternative<FlushRequest>(request) ||
                 std::holds_alternative<FinishRequest>(request)) {
        ASSERT_TRUE(has_started);
      }
    }
    if (has_started && !is_over && (*random)() % 2 == 0) {
      const LiveUpdate update = RandomUpdate(&next_index, random);
      ExpectValid(protocol->OnUpdate(update));
      is_over = update.is_final;
      ExpectValid(protocol->OnSnapshot(RandomBytes(random), 7));
    }
    const std::string bytes = RandomBytes(random);
    requests = protocol->Read({(*random)() % 2 == 0, bytes});
  }
}

TEST(Protocols, SurviveAnyConversation) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  for (int round = 0; round < 20000 && !HasFailure(); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    Converse(&random);
  }
}

}  // namespace
}  // namespace runnel::server
