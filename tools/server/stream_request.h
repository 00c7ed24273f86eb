// A client's request, completed by the server's defaults and held against its limits.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_STREAM_REQUEST_H_
#define RUNNEL_TOOLS_SERVER_STREAM_REQUEST_H_

#include <string>

#include "runtime/stream.h"
#include "tools/server/limits.h"
#include "tools/server/protocol.h"

namespace runnel::server {

// The options of `request` with `defaults` where it leaves a size to the model; a beam that the
// client did not name itself is made no larger than the limit. Throws std::invalid_argument, naming
// option, value and range, when what the client itself asked for is beyond the limits.
StreamOptions CompleteOptions(const StartRequest& request, const StreamOptions& defaults,
                              const Limits& limits);

// Throws std::invalid_argument when so many results are beyond the limits.
void CheckNBest(int nbest, const Limits& limits);

// Throws std::invalid_argument when audio of this rate is beyond the limits.
void CheckSampleRate(int sample_rate_hz, const Limits& limits);

// What is said about a stream of one chunk, the whole utterance, that has no room left: it never
// will.
std::string UtteranceTooLong(const Limits& limits);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_STREAM_REQUEST_H_
