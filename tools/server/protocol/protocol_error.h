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
  kUnknownVersion,    // of Runnel's or Deepgram's protocol
  kUnsupportedOrder,  // e.g. a second start, audio before a start or after the end
  kOddBytes,          // the audio ends within a sample
  kMessageTooLarge,
  kIdleTimeout,
  kTimeLimit,   // of the whole connection
  kAudioLimit,  // of the audio of a stream
  kRecordingTooLong,
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
  std::string message;  // for people; it is made Printable where it is sent
};

// The error message of Runnel's protocol, also for connections that have no protocol yet:
// {"type":"error","code","message"}.
std::string ErrorText(const ProtocolError& error);
// The reason of the close frame that follows the error, for protocols without error messages:
// "<code>: <message>", valid UTF-8. A close frame has room for 123 bytes: a longer reason is cut
// behind a character and ends with "...".
std::string CloseReason(const std::string& code, const ProtocolError& error);

// Who is to blame, in the words of OpenAI's API: "invalid_request_error" or "server_error".
const char* ErrorType(ErrorCode code);
// The body of an HTTP error, in the form of OpenAI's API: {"error":{"message","type","param",
// "code"}}. `code` is a CodeName or one of the HTTP codes in docs/protocol.md. `param` is the field
// of the request that is wrong; "" for none.
std::string HttpErrorBody(int status, const std::string& code, const std::string& message,
                          const std::string& param = "");

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_ERROR_H_
