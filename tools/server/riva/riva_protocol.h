// NVIDIA Riva's StreamingRecognize. docs/protocol.md lists the fields that are used.
#ifndef RUNNEL_TOOLS_SERVER_RIVA_RIVA_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_RIVA_RIVA_PROTOCOL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "riva_asr.pb.h"
#include "runtime/live_update.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/riva/riva_config.h"
#include "tools/server/samples/media_decoder.h"

namespace runnel::server {

// A protocol whose messages are not those of a WebSocket:
//   - a binary message is a serialized StreamingRecognizeRequest,
//   - the text message "" is the end of the client's messages (its half-close),
//   - the texts returned are serialized StreamingRecognizeResponses, whose strings are UTF-8,
//   - the code in CloseAfter is a gRPC status, and the reason its message, in one line of any size.
class RivaProtocol : public Protocol {
 public:
  // `id`: of the call, repeated in responses unless the client gives one.
  RivaProtocol(RivaModel model, std::string id);

  const char* name() const override { return "riva"; }
  Closing CloseAfter(const ProtocolError& error) const override;
  bool TakesLong(const ClientMessage& message) const override;
  bool uses_process() const override { return decoder_ != nullptr && decoder_->uses_process(); }
  std::vector<ClientRequest> Read(const ClientMessage& message) override;
  std::vector<ClientRequest> ReadMore(std::string_view rest) override;
  std::vector<std::string> OnReady(const SessionInfo& info) override;
  std::vector<std::string> OnUpdate(const LiveUpdate& update) override;
  std::vector<std::string> OnError(const ProtocolError& error) override;

 private:
  enum class Phase {
    kBeforeConfig,
    kBeforeAudio,  // the first bytes may have a header with the sample rate
    kAudio,
    kEnding,  // the client has sent all audio, which is not decoded yet
    kOver
  };

  std::vector<ClientRequest> ReadRequest(std::string_view bytes);
  std::vector<ClientRequest> ReadEnd();
  // The next part of what only the end of the audio completes.
  std::vector<ClientRequest> ReadLast(std::vector<float> samples);
  void ReadConfig(const nvidia::riva::asr::StreamingRecognitionConfig& config);
  // The next part of the audio at the front of `rest`, after `num_before` bytes of the message.
  std::vector<ClientRequest> ReadAudio(std::string_view rest, size_t num_before);
  void StartAt(int sample_rate_hz, std::vector<ClientRequest>* requests);
  nvidia::riva::asr::StreamingRecognizeResponse NewResponse() const;

  const RivaModel model_;
  std::string id_;
  Phase phase_ = Phase::kBeforeConfig;
  StartRequest start_;
  bool wants_interim_ = false;
  RivaParts parts_;
  std::unique_ptr<MediaDecoder> decoder_;  // null before the config
  size_t num_left_ = 0;                    // bytes of the last request's audio, not read yet
  bool ends_utterance_ = false;            // after that audio
  LiveUpdate merged_;  // the updates of the present utterance, without those that ended
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RIVA_RIVA_PROTOCOL_H_
