// Test conversations with a protocol, written as tables: messages and the requests they make.
#ifndef RUNNEL_TESTS_TOOLS_SERVER_DIALECTS_PROTOCOL_CONVERSATION_H_
#define RUNNEL_TESTS_TOOLS_SERVER_DIALECTS_PROTOCOL_CONVERSATION_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/live_update.h"
#include "runtime/token_table.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server::testing {

// "<blank>", "▁two", "▁ze", "ro", "字"; ids from 0.
const TokenTable& Units();

// The same, but token 4 is "<en>", a tag.
const TokenTable& UnitsWithTag();

Token TokenAt(int32_t id, double start_ms, double end_ms);

// "two zero", of which "two" is stable; 640 ms of audio, a latency of 12.5 ms.
LiveUpdate TwoZero();
// The final update after it, with two results.
LiveUpdate FinalTwoZero();

// "two", which an endpoint ended. Utterance k is spoken in the second k.
Utterance EndedTwo(int64_t index);
// An update with the text "ze" of utterance `index`, the first of it.
LiveUpdate RunningZe(int64_t index);
// That of utterance 0 after the tag of UnitsWithTag, of a stream that shows it: "<en> ze".
LiveUpdate RunningTag();

ClientMessage Text(std::string_view bytes);
ClientMessage Binary(std::string_view bytes);

// Bytes of little-endian samples.
std::string Pcm16(const std::vector<int16_t>& samples);
std::string Float32(const std::vector<float>& samples);

std::string Base64(const std::string& bytes);

// E.g. "start", "audio 3", "finish", "cancel", "resume abc", "reply {...}", "error bad_json".
// Several are joined by "; ".
std::string Shown(const std::vector<ClientRequest>& requests);

struct Turn {
  ClientMessage message;
  std::string expected;  // the requests, as Shown writes them
};

// Passes the messages to `protocol` and expects the requests of the table.
void ExpectConversation(Protocol* protocol, const std::vector<Turn>& turns);

// The only request, which must be of this kind. Throws std::logic_error when there is not one.
template <typename Request>
Request Only(const std::vector<ClientRequest>& requests) {
  if (requests.size() != 1) throw std::logic_error("expected one request: " + Shown(requests));
  return std::get<Request>(requests[0]);
}

// Expects one text, valid UTF-8 and JSON, and parses it.
nlohmann::json OnlyMessage(const std::vector<std::string>& texts);

}  // namespace runnel::server::testing

#endif  // RUNNEL_TESTS_TOOLS_SERVER_DIALECTS_PROTOCOL_CONVERSATION_H_
