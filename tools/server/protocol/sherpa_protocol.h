// sherpa-onnx's streaming WebSocket protocol, as its clients speak it: docs/protocol.md says what
// differs.
// Flow: socket -> Protocol (this) -> LiveStream -> Protocol (this) -> socket.
#ifndef RUNNEL_TOOLS_SERVER_SHERPA_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_SHERPA_PROTOCOL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/live_update.h"
#include "tools/server/protocol.h"
#include "tools/server/sample_decoder.h"

namespace runnel::server {

class SherpaProtocol : public Protocol {
 public:
  static constexpr std::string_view kDone = "Done";  // the client's end of audio

  // `tokens` must outlive the protocol.
  explicit SherpaProtocol(const TokenTable& tokens) : tokens_(tokens) {}

  const char* name() const override { return "sherpa"; }
  std::vector<ClientRequest> Read(const ClientMessage& message) override;
  std::vector<std::string> OnReady(const SessionInfo& info) override;
  std::vector<std::string> OnUpdate(const LiveUpdate& update) override;
  std::vector<std::string> OnSnapshot(const std::string& token, int64_t num_samples) override;
  std::vector<std::string> OnError(const ProtocolError& error) override;

 private:
  const TokenTable& tokens_;
  bool has_started_ = false;
  bool is_over_ = false;
  SampleDecoder decoder_{SampleEncoding::kFloat32};
  LiveUpdate whole_;  // all updates so far as one
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SHERPA_PROTOCOL_H_
