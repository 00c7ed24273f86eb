// The seam between a client's messages and a live stream: requests in, updates out. A protocol has
// no socket and no stream; the session between them carries out its requests. docs/protocol.md
// describes the protocols for clients.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/stream.h"
#include "tools/cli/sample_encoding.h"
#include "tools/server/protocol/protocol_error.h"

namespace runnel {
struct LiveUpdate;  // runtime/live_update.h
}  // namespace runnel

namespace runnel::server {

// One WebSocket message as it arrived. `bytes` is valid during the call that it is passed to.
struct ClientMessage {
  bool is_text = false;
  std::string_view bytes;
};

// Options that only some models have; empty where the client leaves one to the server.
struct ModelChoices {
  std::optional<Head> head;
  std::optional<int> max_symbols;
  std::optional<double> ctc_weight;
  std::optional<RescoringOptions> rescoring;
  std::optional<std::string> language;
};

// Starts a new stream. The options are in the range that holds for every model; Recognizer::Open
// checks them against its model.
struct StartRequest {
  StreamOptions options;  // kModelDefault, or rate 0, where the client leaves it to the model
  ModelChoices choices;   // take the place of those in `options`
  SampleEncoding encoding = SampleEncoding::kPcm16;
  bool wants_snapshots = false;  // OnSnapshot is to be called now and then
  bool wants_tokens = true;
  bool names_search = false;        // false: options.search.method is to be the server's default
  bool needs_beam = false;          // that default is to be a beam search
  bool names_beam_size = false;     // false: the server may use a smaller beam
  bool leaves_endpointing = false;  // options.endpoints.enabled is to be the server's default
};

// Continues the stream whose snapshot is stored under `token`, and keeps new snapshots of it. The
// snapshot holds the stream's options.
struct ResumeRequest {
  std::string token;
  int nbest = 0;  // most hypotheses of an utterance; 0: as many as the stream was started with
  // Utterances that the client has received: the index of the last and 1. Those after them that an
  // earlier connection handed over are sent again. Empty: none is sent again.
  std::optional<int64_t> num_utterances;
};

// Mono samples; may be empty. Every sample is finite and at most kMaxAmplitude (sample_decoder.h).
struct AudioRequest {
  std::vector<float> samples;
};

struct FlushRequest {};   // ends the utterance; audio may follow
struct FinishRequest {};  // the audio is complete; the client waits for the final update
struct CancelRequest {};  // the client wants no further message
// A text message to be sent as it is, before the messages of later requests.
struct ImmediateReply {
  std::string text;
};

// After a ProtocolError, the caller sends OnError's messages and closes with CloseCode.
using ClientRequest = std::variant<StartRequest, ResumeRequest, AudioRequest, FlushRequest,
                                   FinishRequest, CancelRequest, ImmediateReply, ProtocolError>;

// What a client is told about its stream when the stream is started or resumed.
struct SessionInfo {
  std::string session_id;
  std::string model_name;
  StreamOptions options;  // resolved: no kModelDefault, the real sample rate
  double encoder_frame_ms = 0;
  // The number of samples that a resumed stream has received, from the start of the audio. -1 for a
  // new stream.
  int64_t num_samples = -1;
  // Index of the first utterance that the client of a resumed stream is sent.
  int64_t first_utterance = 0;
  bool keeps_snapshots = false;  // the client can resume the stream
};

// One object per connection, used by one thread at a time. No method throws for what a client
// sends. Memory is proportional to the message and to the utterance so far. All texts returned are
// JSON (or sherpa-onnx's "Done!") and valid UTF-8, whatever bytes the model's tokens hold.
//
// Every class also has a static function for protocol_registry.cc: whether the first message of a
// connection belongs to it. `json` is the object in a text message, null for any other message.
//   static bool Recognizes(const ClientMessage& first, const nlohmann::json& json);
class Protocol {
 public:
  virtual ~Protocol() = default;

  // Names the protocol in metric labels, e.g. "wenet".
  virtual const char* name() const = 0;

  // The requests that `message` makes, in order. Most messages make one; sherpa-onnx's first makes
  // two. None after a ProtocolError, a CancelRequest or the final update.
  virtual std::vector<ClientRequest> Read(const ClientMessage& message) = 0;

  // The methods below return the text messages to send, in order.

  // The stream has been started or resumed.
  virtual std::vector<std::string> OnReady(const SessionInfo& info) = 0;
  // After OnReady of a resumed stream: utterances that an earlier connection handed over, in order.
  virtual std::vector<std::string> OnUtterances(const std::vector<Utterance>& utterances) = 0;
  // Called for every update in order, the final one included. After it the caller closes the
  // connection: with the error's code when the final update has an `error`, else with 1000.
  virtual std::vector<std::string> OnUpdate(const LiveUpdate& update) = 0;
  // The first `num_samples` samples are in a stored snapshot. Only with wants_snapshots.
  virtual std::vector<std::string> OnSnapshot(const std::string& token, int64_t num_samples) = 0;
  virtual std::vector<std::string> OnError(const ProtocolError& error) = 0;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_H_
