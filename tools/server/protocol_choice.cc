#include <nlohmann/json.hpp>

#include "tools/server/client_json.h"
#include "tools/server/protocol.h"
#include "tools/server/runnel_protocol.h"
#include "tools/server/sherpa_protocol.h"
#include "tools/server/wenet_protocol.h"

namespace runnel::server {

std::unique_ptr<Protocol> ChooseProtocol(const ClientMessage& first, const TokenTable& tokens,
                                         ProtocolError* error) {
  if (!first.is_text || first.bytes == SherpaProtocol::kDone) {
    return std::make_unique<SherpaProtocol>(tokens);
  }
  try {
    const nlohmann::json message = ReadClientJson(first.bytes);
    if (message.contains("type")) return std::make_unique<RunnelProtocol>(tokens);
    if (message.contains("signal")) return std::make_unique<WenetProtocol>(tokens);
    *error = {ErrorCode::kBadMessage,
              R"(the first message has neither "type" (Runnel) nor "signal" (WeNet))"};
  } catch (const ClientMistake& mistake) {
    *error = {mistake.code(), mistake.what()};
  }
  return nullptr;
}

}  // namespace runnel::server
