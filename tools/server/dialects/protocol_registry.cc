#include "tools/server/dialects/protocol_registry.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "tools/server/dialects/deepgram_protocol.h"
#include "tools/server/dialects/openai_realtime_protocol.h"
#include "tools/server/dialects/runnel_protocol.h"
#include "tools/server/dialects/sherpa_protocol.h"
#include "tools/server/dialects/vosk_protocol.h"
#include "tools/server/dialects/wenet_protocol.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {
namespace {

// A protocol that an opening chooses. Its class has
//   static bool IsFor(const Opening& opening);
//   Kind(const Opening& opening, const TokenTable& tokens);  // throws ClientMistake
struct ByOpening {
  bool (*is_for)(const Opening& opening);
  std::unique_ptr<Protocol> (*make)(const Opening& opening, const TokenTable& tokens);
};

template <typename Kind>
constexpr ByOpening OpeningOf() {
  return {&Kind::IsFor,
          [](const Opening& opening, const TokenTable& tokens) -> std::unique_ptr<Protocol> {
            return std::make_unique<Kind>(opening, tokens);
          }};
}

// A protocol that the first message chooses. Its class has
//   static bool Recognizes(const ClientMessage& first, const nlohmann::json& json);
//   explicit Kind(const TokenTable& tokens);
struct ByMessage {
  // `json`: the object that a text message holds; null for any other message.
  bool (*recognizes)(const ClientMessage& first, const nlohmann::json& json);
  std::unique_ptr<Protocol> (*make)(const TokenTable& tokens);
};

template <typename Kind>
constexpr ByMessage MessageOf() {
  return {&Kind::Recognizes, [](const TokenTable& tokens) -> std::unique_ptr<Protocol> {
            return std::make_unique<Kind>(tokens);
          }};
}

// The first entry that fits is chosen.
constexpr std::array kByOpening = {
    OpeningOf<DeepgramProtocol>(),
    OpeningOf<VoskProtocol>(),
    OpeningOf<OpenAiRealtimeProtocol>(),
};
constexpr std::array kByMessage = {
    MessageOf<RunnelProtocol>(),
    MessageOf<WenetProtocol>(),
    MessageOf<VoskProtocol>(),
    MessageOf<SherpaProtocol>(),
};

}  // namespace

std::unique_ptr<Protocol> ChooseProtocol(const Opening& opening, const TokenTable& tokens) {
  for (const ByOpening& protocol : kByOpening) {
    if (protocol.is_for(opening)) return protocol.make(opening, tokens);
  }
  return nullptr;
}

bool FirstTakesLong(const ClientMessage& first) {
  if (!first.is_text) return first.bytes.size() > kShortAudioBytes;
  return first.bytes.size() > kShortTextBytes || RunnelProtocol::PreparesHotwords(first.bytes) ||
         VoskProtocol::PreparesHotwords(first.bytes);
}

std::unique_ptr<Protocol> ReadFirstMessage(const ClientMessage& first, const TokenTable& tokens,
                                           std::vector<ClientRequest>* requests) {
  nlohmann::json json;
  ProtocolError error = {
      ErrorCode::kBadMessage,
      R"(the first message has none of "type" (Runnel), "signal" (WeNet) and "config" (Vosk))"};
  ClientMessage message = first;
  if (first.is_text) {
    try {
      json = ReadClientJson(first.bytes);
      message.json = &json;
    } catch (const ClientMistake& mistake) {
      error = {mistake.code(), mistake.what()};
    }
  }
  for (const ByMessage& known : kByMessage) {
    if (!known.recognizes(first, json)) continue;
    std::unique_ptr<Protocol> protocol = known.make(tokens);
    *requests = protocol->Read(message);
    return protocol;
  }
  requests->emplace_back(std::move(error));
  return nullptr;
}

}  // namespace runnel::server
