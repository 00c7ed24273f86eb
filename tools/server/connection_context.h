// What a connection carries from its acceptance to its end.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_CONNECTION_CONTEXT_H_
#define RUNNEL_TOOLS_SERVER_CONNECTION_CONTEXT_H_

#include <string>

#include "tools/server/access.h"
#include "tools/server/admission.h"
#include "tools/server/services.h"
#include "tools/server/session_registry.h"

namespace runnel::server {

// Shared by all connections; outlives them.
struct ConnectionServices {
  const Services* services = nullptr;
  const AccessRules* access = nullptr;
  SessionRegistry* registry = nullptr;
};

struct ConnectionContext {
  const ConnectionServices* shared = nullptr;
  std::string id;                    // for logs and clients
  std::string address;               // of the peer, or of the client behind a trusted proxy
  Ticket ticket;                     // the connection's place
  Ticket address_ticket;             // and that among those of its address
  Refusal refusal = Refusal::kNone;  // of a place that is above a limit
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_CONNECTION_CONTEXT_H_
