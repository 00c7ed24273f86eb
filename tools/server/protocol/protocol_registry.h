// The WebSocket protocols of the server, and the choice between them.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_REGISTRY_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_REGISTRY_H_

#include <memory>

#include "runtime/token_table.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server {

// The protocol that a connection speaks, chosen by its first message; docs/protocol.md has the
// rules. The caller passes that message to Read as well. Null when no protocol recognises the
// message; `error` then says why, to be sent as ErrorText. `tokens` must outlive the protocol.
//
// To add a protocol, write its class (protocol.h) with a static Recognizes and add one line to the
// table in protocol_registry.cc.
std::unique_ptr<Protocol> ChooseProtocol(const ClientMessage& first, const TokenTable& tokens,
                                         ProtocolError* error);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_REGISTRY_H_
