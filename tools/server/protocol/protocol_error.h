// Errors that clients are told: their codes, and the JSON text that carries them.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_ERROR_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_ERROR_H_

#include <string>

namespace runnel::server {

// Why a connection is refused or ended. The names and WebSocket close codes are part of Runnel's
// protocol: a code may be added, but none may change.
enum class ErrorCode {
  kBadJson,           // a text message is not a JSON object
  kBadMessage,        // JSON, but not a message of the protocol
  kBadOption,         // an option is unknown, of the wrong type or out of range
  kUnknownVersion,    // of Runnel's protocol
  kUnsupportedOrder,  // e.g. a second start, audio before a start or after the end
  kOddBytes,          // the audio ends within a sample
  kMessageTooLarge,
  kIdleTimeout,
  kTimeLimit,   // of the whole connection
  kAudioLimit,  // of the audio of a stream
  kFull,
  kAddressFull,  // too many streams of one address
  kUnauthorized,
  kDraining,          // the server is shutting down
  kSnapshotUnknown,   // no snapshot has this token
  kSnapshotInvalid,   // of another model, damaged, or of another version
  kStoreUnavailable,  // the snapshot store does not answer
  kStreamFailed,      // the model's output for this audio is not finite
  kInternal
};

// The code for clients and metric labels, e.g. "bad_json".
const char* CodeName(ErrorCode code);
// The WebSocket close code that follows the error: 1008, 1009, 1011 or 1013 (try again later).
int CloseCode(ErrorCode code);

struct ProtocolError {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // for people; control characters are replaced where it is sent
};

// The error message of Runnel's protocol, also for connections that have no protocol yet:
// {"type":"error","code","message"}.
std::string ErrorText(const ProtocolError& error);
// The body of an HTTP error: {"error":{"code","message"}}. `code` is a CodeName or one of the HTTP
// codes in docs/protocol.md.
std::string HttpErrorBody(const std::string& code, const std::string& message);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_ERROR_H_
