// What a client says and hears in each of the protocols that the server speaks. Knows no socket.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below client/session).
//
// docs/protocol.md has our own; WeNet's and sherpa-onnx's are as their own clients speak them.
#ifndef RUNNEL_TOOLS_CLIENT_CLIENT_PROTOCOL_H_
#define RUNNEL_TOOLS_CLIENT_CLIENT_PROTOCOL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace runnel::client {

enum class SampleEncoding { kPcm16, kFloat32 };

// Bytes of one sample.
int SampleSize(SampleEncoding encoding);

// What our own protocol's start message asks for; the other protocols have no words for it. Without
// a value: as the server's model recommends.
struct StartOptions {
  int sample_rate_hz = 16000;
  SampleEncoding encoding = SampleEncoding::kPcm16;
  std::optional<int64_t> chunk_size;
  std::optional<int64_t> left_context;
  bool wants_snapshots = false;
};

// One message of the server.
struct ServerMessage {
  enum class Kind {
    kReady,     // also "resumed": num_samples says where the audio goes on
    kPartial,   // text: all so far
    kSnapshot,  // text: the token; num_samples: the audio that is safe with it
    kFinal,     // text: the result; nothing follows
    kError,     // code and text
    kOther,     // nothing to do
  };
  Kind kind = Kind::kOther;
  std::string text;
  std::string code;
  int64_t num_samples = 0;
  double audio_ms = -1;    // of a partial: the audio that it covers; -1: the server did not say
  double latency_ms = -1;  // of a partial or final: as the server measured it; -1: it did not say
  double look_ahead_ms = -1;  // of ready: see Session; -1: the server did not say
};

// One stream's conversation; remembers the text so far.
class ClientProtocol {
 public:
  virtual ~ClientProtocol() = default;

  // First message of a new stream; "": there is none.
  virtual std::string StartMessage(const StartOptions& options) const = 0;
  // Says that there is no more audio.
  virtual std::string FinishMessage() const = 0;
  // Whether the server answers the first message by kReady.
  virtual bool AnswersStart() const = 0;
  // Throws std::runtime_error when the message is none of the protocol.
  virtual ServerMessage Read(std::string_view message) = 0;
};

// `name`: "runnel", "wenet" or "sherpa"; throws std::invalid_argument otherwise.
std::unique_ptr<ClientProtocol> MakeClientProtocol(const std::string& name);

// First message to continue a stream (our own protocol only). `encoding`: of what is sent from then
// on; all else is in the snapshot.
std::string ResumeMessage(const std::string& token, SampleEncoding encoding);

// The encoding that the protocol has without saying so: float32 for sherpa-onnx, else pcm16.
SampleEncoding UsualEncoding(const std::string& protocol);

struct RefusalBody {
  std::string code;
  std::string message;
};

// The body of an HTTP answer, {"error":{"code":"full","message":"..."}}; nothing when it is
// another.
std::optional<RefusalBody> ReadRefusalBody(std::string_view body);

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_CLIENT_PROTOCOL_H_
