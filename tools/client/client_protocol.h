// The client's side of the server's protocols, independent of sockets.
//
// docs/protocol.md describes the protocols. Those of other servers are implemented as in their own
// clients.
#ifndef RUNNEL_TOOLS_CLIENT_CLIENT_PROTOCOL_H_
#define RUNNEL_TOOLS_CLIENT_CLIENT_PROTOCOL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tools/cli/sample_encoding.h"

namespace runnel::client {

// The parameters of a stream. Runnel's protocol has all; WeNet's has `endpointing`, Deepgram's and
// OpenAI's have the rate. Values that are not set are those that the server's model recommends.
struct StartOptions {
  int sample_rate_hz = 16000;
  SampleEncoding encoding = SampleEncoding::kPcm16;
  std::optional<int64_t> chunk_size;
  std::optional<int64_t> left_context;
  std::optional<int64_t> right_context;
  bool cached_windows = false;  // false: as the server decides
  bool wants_snapshots = false;
  bool endpointing = false;  // the server ends an utterance in silence
  std::string fields;        // a JSON object: more fields, which replace those above; "": none
};

// One message of the server.
struct ServerMessage {
  enum class Kind {
    kReady,      // also "resumed"; num_samples: the sample at which the audio goes on
    kPartial,    // text: of the present utterance; of all with the other protocols
    kUtterance,  // `utterance` has ended
    kSnapshot,   // text: the token; num_samples: the audio that it covers
    kFinal,      // text: of all utterances; nothing follows
    kError,      // code and text
    kOther,      // to be ignored
  };
  Kind kind = Kind::kOther;
  std::string text;
  std::string code;
  std::optional<std::string> utterance;  // of any kind: text of the utterance that has ended
  bool answers_end_of_speech = false;    // of any kind: the first EndOfSpeechMessage without answer
  int64_t num_samples = 0;
  double audio_ms = -1;       // of a partial: the audio that it covers; -1: not reported
  double latency_ms = -1;     // of a partial or final: measured by the server; -1: not reported
  double look_ahead_ms = -1;  // of ready: see SessionOptions; -1: not reported
};

struct MessageToSend {
  bool is_text = true;
  std::string bytes;
};

// The messages of one stream. Keeps the text so far.
class ClientProtocol {
 public:
  virtual ~ClientProtocol() = default;

  // Path and query of its streams, below the server's URL; "" for the URL itself.
  virtual std::string Target(const StartOptions& /*options*/) const { return ""; }
  // Whether the server learns the rate of the audio.
  virtual bool announces_rate() const { return false; }

  // To be called before the first message of every connection. The stream begins anew or, in
  // Runnel's protocol, may be resumed; Read brings no utterance twice.
  virtual void OnConnect() = 0;
  // Utterances that Read has brought, for a resume.
  virtual int64_t num_utterances() const = 0;

  // First message of a new stream; "": the protocol has none.
  virtual std::string StartMessage(const StartOptions& options) const = 0;
  // The message with these encoded samples.
  virtual MessageToSend AudioMessage(std::string bytes) const {
    return {/*is_text=*/false, std::move(bytes)};
  }
  // Asks for the final text of the audio so far, while the stream goes on; "": the protocol has no
  // such message.
  virtual std::string EndOfSpeechMessage() { return ""; }
  // The message at the end of the audio.
  virtual std::string FinishMessage() = 0;
  // Whether the server answers the first message with kReady.
  virtual bool AnswersStart() const = 0;
  // Throws std::runtime_error when the message is not one of the protocol.
  virtual ServerMessage Read(std::string_view message) = 0;
};

// `name`: "runnel", "deepgram", "openai", "wenet" or "sherpa"; throws std::invalid_argument
// otherwise.
std::unique_ptr<ClientProtocol> MakeClientProtocol(const std::string& name);

// First message to resume a stream, in Runnel's protocol only. `encoding`: of the audio from then
// on; the snapshot holds all other parameters. `num_utterances`: that the client has.
std::string ResumeMessage(const std::string& token, SampleEncoding encoding,
                          int64_t num_utterances);

// The default encoding of a protocol: float32 for sherpa-onnx, otherwise pcm16.
SampleEncoding UsualEncoding(const std::string& protocol);

struct RefusalBody {
  std::string code;
  std::string message;
};

// Parses the body of an HTTP answer, {"error":{"code":"full","message":"..."}}; no value when the
// body has another form.
std::optional<RefusalBody> ReadRefusalBody(std::string_view body);

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_CLIENT_PROTOCOL_H_
