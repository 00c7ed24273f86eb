#include "tools/server/protocol/protocol_registry.h"

#include <nlohmann/json.hpp>

#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/runnel_protocol.h"
#include "tools/server/protocol/sherpa_protocol.h"
#include "tools/server/protocol/wenet_protocol.h"

namespace runnel::server {
namespace {

struct Entry {
  // `json`: the object that a text message holds; null for any other message.
  bool (*recognizes)(const ClientMessage& first, const nlohmann::json& json);
  std::unique_ptr<Protocol> (*make)(const TokenTable& tokens);
};

template <typename Kind>
constexpr Entry EntryOf() {
  return {&Kind::Recognizes, [](const TokenTable& tokens) -> std::unique_ptr<Protocol> {
            return std::make_unique<Kind>(tokens);
          }};
}

// The first protocol that recognises a message is chosen.
constexpr Entry kProtocols[] = {
    EntryOf<RunnelProtocol>(),
    EntryOf<WenetProtocol>(),
    EntryOf<SherpaProtocol>(),
};

}  // namespace

std::unique_ptr<Protocol> ChooseProtocol(const ClientMessage& first, const TokenTable& tokens,
                                         ProtocolError* error) {
  nlohmann::json json;
  *error = {ErrorCode::kBadMessage,
            R"(the first message has neither "type" (Runnel) nor "signal" (WeNet))"};
  if (first.is_text) {
    try {
      json = ReadClientJson(first.bytes);
    } catch (const ClientMistake& mistake) {
      *error = {mistake.code(), mistake.what()};
    }
  }
  for (const Entry& protocol : kProtocols) {
    if (protocol.recognizes(first, json)) return protocol.make(tokens);
  }
  return nullptr;
}

}  // namespace runnel::server
