// The seam between what a client sends and a live stream: three protocols, one set of requests.
// Flow: socket -> Protocol (this) -> LiveStream -> Protocol -> socket. Knows no socket and no
// stream; the session between them carries requests out. docs/protocol.md says what clients see.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/stream.h"
#include "runtime/token_table.h"

namespace runnel {
struct LiveUpdate;  // runtime/live_update.h
}  // namespace runnel

namespace runnel::server {

// Why a connection is refused or ended. Names and WebSocket close codes are part of our own
// protocol: a code may be added, none changes.
enum class ErrorCode {
  kBadJson,           // a text message is not a JSON object
  kBadMessage,        // JSON, but no message of the protocol
  kBadOption,         // an option that is unknown, of the wrong type or out of range
  kUnknownVersion,    // of our own protocol
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
  kSnapshotUnknown,   // no snapshot of that token
  kSnapshotInvalid,   // of another model, damaged, of another version
  kStoreUnavailable,  // where snapshots are kept does not answer
  kStreamFailed,      // the model's output for this audio is not finite
  kInternal
};

// E.g. "bad_json": what clients see, and a metric label.
const char* CodeName(ErrorCode code);
// The WebSocket close code that follows the error: 1008, 1009, 1011 or 1013 (try again later).
int CloseCode(ErrorCode code);

// One WebSocket message as it arrived; `bytes` live as long as the call they are passed to.
struct ClientMessage {
  bool is_text = false;
  std::string_view bytes;
};

// Both little-endian. PCM16 is divided by 32768.
enum class SampleEncoding { kPcm16, kFloat32 };

// Begin a new stream. The options are in range as far as that shows without the model; what the
// model refuses, Recognizer::Open says.
struct StartRequest {
  StreamOptions options;  // kModelDefault, or rate 0, where the client leaves it to the model
  SampleEncoding encoding = SampleEncoding::kPcm16;
  int nbest = 1;                 // results in the final message
  bool wants_snapshots = false;  // so that OnSnapshot is to be called now and then
  bool wants_tokens = true;
  bool names_beam_size = false;  // otherwise the server may make it smaller
};

// Continue the stream whose snapshot is kept under `token`, and keep new snapshots of it. Its
// options are in the snapshot.
struct ResumeRequest {
  std::string token;
  int nbest = 0;  // results in the final message; 0: as many as the stream was started with
};

// Mono samples, none far beyond [-1, 1], every one a number; may be none at all.
struct AudioRequest {
  std::vector<float> samples;
};

struct FinishRequest {};  // no more audio: the final update is wanted
struct CancelRequest {};  // nothing more is wanted
struct ImmediateReply {
  std::string text;
};  // to be sent as it is, before what comes later

// After it, the caller sends OnError's messages and closes with CloseCode. After it and after a
// final update, Read gives nothing more.
struct ProtocolError {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one line, for people
};

using ClientRequest = std::variant<StartRequest, ResumeRequest, AudioRequest, FinishRequest,
                                   CancelRequest, ImmediateReply, ProtocolError>;

// What the protocol tells the client when its stream is there.
struct SessionInfo {
  std::string session_id;
  std::string model_name;
  StreamOptions options;  // resolved: no kModelDefault, the real sample rate
  double encoder_frame_ms = 0;
  // Of a resumed stream: samples that it holds already, from the start of the audio. New: -1.
  int64_t num_samples = -1;
  bool keeps_snapshots = false;  // so that the client can resume the stream
};

// One per connection, used by one thread at a time. Never throws for what a client sends, and needs
// memory in proportion to the message and to the text so far. All text it returns is JSON (or
// sherpa-onnx's "Done!") and valid UTF-8, whatever bytes the tokens hold.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // "runnel", "wenet" or "sherpa": also a metric label.
  virtual const char* name() const = 0;

  // What the client wants, in order; mostly one request, sherpa-onnx's first message gives two.
  virtual std::vector<ClientRequest> Read(const ClientMessage& message) = 0;

  // What is to be sent, in order, each as one text message.
  virtual std::vector<std::string> OnReady(const SessionInfo& info) = 0;  // started or resumed
  // Every update in order, the final one too. After a final update with an `error`, or after
  // OnError, the caller closes with the error's code, after a final one without it with 1000.
  virtual std::vector<std::string> OnUpdate(const LiveUpdate& update) = 0;
  // Only when StartRequest.wants_snapshots: the first `num_samples` samples are safe.
  virtual std::vector<std::string> OnSnapshot(const std::string& token, int64_t num_samples) = 0;
  virtual std::vector<std::string> OnError(const ProtocolError& error) = 0;
};

// Which protocol a connection speaks, by its first message: JSON with "type" is ours, JSON with
// "signal" WeNet's, binary (or the text "Done") sherpa-onnx's. Otherwise null, and `error` says
// what was wrong; ErrorText puts it into a message. The message is to be passed to Read as well.
// `tokens` must outlive the protocol.
std::unique_ptr<Protocol> ChooseProtocol(const ClientMessage& first, const TokenTable& tokens,
                                         ProtocolError* error);

// Our own protocol's message for an error, for connections that have no protocol yet.
std::string ErrorText(const ProtocolError& error);
// The body of an HTTP reply that says such a thing: {"error":{"code","message"}}. `code`: CodeName,
// or one of HTTP's own (docs/protocol.md).
std::string HttpErrorBody(const std::string& code, const std::string& message);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_H_
