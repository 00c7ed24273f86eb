// The live protocols of speech services that the server speaks too.
#ifndef RUNNEL_TOOLS_CLIENT_SERVICE_PROTOCOLS_H_
#define RUNNEL_TOOLS_CLIENT_SERVICE_PROTOCOLS_H_

#include <memory>

#include "tools/client/client_protocol.h"

namespace runnel::client {

std::unique_ptr<ClientProtocol> MakeDeepgramProtocol();
std::unique_ptr<ClientProtocol> MakeOpenAiProtocol();  // Realtime, for transcription

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_SERVICE_PROTOCOLS_H_
