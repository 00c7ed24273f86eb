// The protocols of the server, live and for recordings, and the choice between them.
#ifndef RUNNEL_TOOLS_SERVER_DIALECTS_PROTOCOL_REGISTRY_H_
#define RUNNEL_TOOLS_SERVER_DIALECTS_PROTOCOL_REGISTRY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/token_table.h"
#include "tools/server/protocol/http_dialect.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/recordings/recording_request.h"

namespace runnel::server {

// A protocol is chosen by the request that opens the WebSocket if its clients use a path or a
// subprotocol of their own, otherwise by the first message. docs/protocol.md has the rules. To add
// a protocol, write its class (protocol.h) and its rows in the tables of protocol_registry.cc:
// transport and resources do not name it. `tokens` must outlive the protocol.

// Null when the first message decides. Throws ClientMistake when the opening is wrong for its
// protocol, e.g. an unknown encoding in the query.
std::unique_ptr<Protocol> ChooseProtocol(const Opening& opening, const TokenTable& tokens);

// Whether ReadFirstMessage may take more than a millisecond (Protocol::TakesLong).
bool FirstTakesLong(const ClientMessage& first);

// Reads the first message by the protocol that recognises it, and puts the requests that it makes
// into `requests`. Null when none does: the request is then an error, to be sent as ErrorText.
std::unique_ptr<Protocol> ReadFirstMessage(const ClientMessage& first, const TokenTable& tokens,
                                           std::vector<ClientRequest>* requests);

// The path by which the server knows the interface at `path`, of a request without its query.
// OpenAI's and Deepgram's interfaces are known by the end of the path, because clients differ in
// their base URL. A slash at the end does not count.
std::string ServicePath(std::string_view path);

// The paths whose POST has a recording.
std::vector<std::string> RecordingPaths();
bool TakesRecordings(std::string_view path);
// `post`: to one of these paths. Throws FieldMistake.
RecordingRequest ReadRecording(RecordingPost post, const TokenTable& tokens,
                               const std::string& model_name);

// How the clients read replies that make requests to `path`. Valid as long as the program.
const HttpDialect& HttpDialectOf(std::string_view path);
// Those of all protocols.
TokenPlaces AllTokenPlaces();

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIALECTS_PROTOCOL_REGISTRY_H_
