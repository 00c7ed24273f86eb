// The seam between a client's messages and a live stream: requests in, updates out. A protocol has
// no socket and no stream; the session between them carries out its requests. docs/protocol.md
// describes the protocols for clients.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/options/stream_options.h"
#include "runtime/stream.h"
#include "tools/cli/sample_encoding.h"
#include "tools/server/protocol/protocol_error.h"

namespace runnel {
struct LiveUpdate;  // runtime/live_update.h
}  // namespace runnel

namespace runnel::server {

// The request that opens a WebSocket.
struct Opening {
  std::string session_id;  // that the client and the log know the connection by
  std::string path;        // "/v1/listen"
  std::vector<std::pair<std::string, std::string>> query;  // (name, value), decoded, in order
  std::vector<std::string> subprotocols;                   // offered by the client, in its order
  // The value of a header of the request; "" without it. To be called while the opening is read.
  std::function<std::string_view(std::string_view name)> header = [](std::string_view /*name*/) {
    return std::string_view();
  };
};

// The close frame of a WebSocket.
struct Closing {
  int code = 0;
  std::string reason;  // at most 123 bytes
};

// One WebSocket message as it arrived. `bytes` is valid during the call that it is passed to.
struct ClientMessage {
  bool is_text = false;
  std::string_view bytes;
  // The object in a text message, when it has been parsed already: ReadClientJson takes it from
  // here. Otherwise null.
  nlohmann::json* json = nullptr;
};

// Starts a new stream. Recognizer::Open checks the options against its model.
struct StartRequest {
  // What the client has chosen, and the rate of the samples (0: the model's). The rest is the
  // server's.
  ChosenOptions options;
  std::optional<std::string> language_hint;  // "en": counts if the model has this language
  // The client takes at most as many results of an utterance, and the server may send fewer. 0: it
  // asks for nbest, no fewer.
  int max_alternatives = 0;
  SampleEncoding encoding = SampleEncoding::kPcm16;
  bool wants_snapshots = false;  // OnSnapshot is to be called now and then
  bool wants_tokens = true;
  bool expects_endpointing = false;  // it is on unless the server's flags or the client say no
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

// Mono samples; may be empty. Every sample is at most kMaxAmplitude
// (frontend/sample_range.h).
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

// The message holds more: the caller calls ReadMore when it has room for more audio. The last of
// the requests of a call.
struct MoreRequest {
  // Bytes of the message, or of the rest of it, that the call has read. They are not needed again.
  size_t num_read = 0;
};

// After a ProtocolError, the caller sends OnError's messages and closes as CloseAfter says.
using ClientRequest =
    std::variant<StartRequest, ResumeRequest, AudioRequest, FlushRequest, FinishRequest,
                 CancelRequest, ImmediateReply, MoreRequest, ProtocolError>;

// What a client is told about its stream when the stream is started or resumed.
struct SessionInfo {
  std::string session_id;
  std::string model_name;
  StreamOptions options;                    // resolved: no kModelDefault, the real sample rate
  const TokenTable* text_tokens = nullptr;  // of the stream's texts; outlives the protocol
  double encoder_frame_ms = 0;
  // The number of samples that a resumed stream has received, from the start of the audio. -1 for a
  // new stream.
  int64_t num_samples = -1;
  // Index of the first utterance that the client of a resumed stream is sent.
  int64_t first_utterance = 0;
  bool keeps_snapshots = false;  // the client can resume the stream
};

// The most that a protocol reads in a fraction of a millisecond: of JSON, and of audio that is
// neither compressed nor in JSON.
constexpr size_t kShortTextBytes = 4096;
constexpr size_t kShortAudioBytes = 65536;

// One object per connection, used by one thread at a time. No method throws for what a client
// sends. Memory is proportional to the message and to the utterance so far. All texts returned are
// JSON (or "Done!" of sherpa-onnx, or events of Wyoming) and valid UTF-8, whatever the tokens hold.
//
// protocol_registry.h says how a connection gets its protocol.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // Names the protocol in metric labels, e.g. "wenet".
  virtual const char* name() const = 0;

  // The subprotocol of the WebSocket, one that the client offered; "" for none.
  virtual std::string subprotocol() const { return ""; }
  // Further headers of the answer that opens the WebSocket: names and values.
  virtual std::vector<std::pair<std::string, std::string>> headers() const { return {}; }

  // The next three have a result that never changes. They may be called while another method runs.
  // The largest message that is accepted, where `limit` holds for one of binary audio.
  virtual size_t MaxMessageBytes(size_t limit) const { return limit; }
  // Whether a client that answers pings is not idle: the protocol has no message that says no more
  // than that the client is there, and its clients pause.
  virtual bool may_be_silent() const { return false; }
  // How the connection is closed after OnError.
  virtual Closing CloseAfter(const ProtocolError& error) const {
    return {CloseCode(error.code), ""};
  }

  // The requests that the opening of the WebSocket makes. Called once, before Read.
  virtual std::vector<ClientRequest> Open() { return {}; }

  // Whether Read or ReadMore of `message` may take more than a millisecond, which is more than a
  // network thread can spare.
  virtual bool TakesLong(const ClientMessage& message) const {
    return message.bytes.size() > (message.is_text ? kShortTextBytes : kShortAudioBytes);
  }

  // Whether Read and ReadMore may wait for another process, which decodes the audio. It starts with
  // the first call for which this was true.
  virtual bool uses_process() const { return false; }

  // The requests that `message` makes, in order. Most messages make one; sherpa-onnx's first makes
  // two. A message with much audio makes an AudioRequest for its first part and a MoreRequest. None
  // after a ProtocolError, a CancelRequest or the final update.
  virtual std::vector<ClientRequest> Read(const ClientMessage& message) = 0;

  // The next requests of the last message, after a MoreRequest and before another Read. `rest`: the
  // bytes that were not read, at the same or another address.
  virtual std::vector<ClientRequest> ReadMore(std::string_view /*rest*/) { return {}; }

  // The methods below return the text messages to send, in order.

  // The stream has been started or resumed.
  virtual std::vector<std::string> OnReady(const SessionInfo& info) = 0;
  // After OnReady of a resumed stream: utterances that an earlier connection handed over, in order.
  // Only with a ResumeRequest.
  virtual std::vector<std::string> OnUtterances(const std::vector<Utterance>& /*utterances*/) {
    return {};
  }
  // Called for every update in order, the final one included. After it the caller closes the
  // connection: as CloseAfter says when the final update has an `error`, else with 1000.
  virtual std::vector<std::string> OnUpdate(const LiveUpdate& update) = 0;
  // The first `num_samples` samples are in a stored snapshot. Only with wants_snapshots.
  virtual std::vector<std::string> OnSnapshot(const std::string& /*token*/,
                                              int64_t /*num_samples*/) {
    return {};
  }
  virtual std::vector<std::string> OnError(const ProtocolError& error) = 0;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_PROTOCOL_H_
