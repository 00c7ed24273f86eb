// What a client is told that was refused a slot.
#ifndef RUNNEL_TOOLS_SERVER_RESOURCES_REFUSAL_H_
#define RUNNEL_TOOLS_SERVER_RESOURCES_REFUSAL_H_

#include "tools/server/protocol/protocol_error.h"
#include "tools/server/resources/admission.h"
#include "tools/server/resources/metrics.h"

namespace runnel::server {

// The code is kDraining, kFull or kAddressFull. Counts the rejection.
ProtocolError RefusalError(Refusal refusal, Metrics* metrics);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RESOURCES_REFUSAL_H_
