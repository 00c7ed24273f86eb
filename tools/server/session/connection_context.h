// The data of a connection from its acceptance to its end.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_CONNECTION_CONTEXT_H_
#define RUNNEL_TOOLS_SERVER_SESSION_CONNECTION_CONTEXT_H_

#include <string>

#include "tools/server/resources/access.h"
#include "tools/server/resources/admission.h"
#include "tools/server/resources/origins.h"
#include "tools/server/resources/services.h"
#include "tools/server/session/session_registry.h"

namespace runnel::server {

// Shared by all connections, and outlives them.
struct ConnectionServices {
  const Services* services = nullptr;
  const AccessRules* access = nullptr;
  const OriginRules* origins = nullptr;
  SessionRegistry* registry = nullptr;
};

struct ConnectionContext {
  const ConnectionServices* shared = nullptr;
  std::string id;                    // for logs and clients
  std::string address;               // of the peer, or of the client behind a trusted proxy
  Ticket ticket;                     // the slot of the connection
  Ticket address_ticket;             // its slot among the connections of its address
  Refusal refusal = Refusal::kNone;  // why the connection exceeds a limit

  Client client() const { return {id, AccountOf(address)}; }
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_CONNECTION_CONTEXT_H_
