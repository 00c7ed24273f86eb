// Our own protocol, version 1: docs/protocol.md.
// Flow: socket -> Protocol (this) -> LiveStream -> Protocol (this) -> socket.
#ifndef RUNNEL_TOOLS_SERVER_RUNNEL_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_RUNNEL_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "encoder/json_section.h"
#include "tools/server/protocol.h"
#include "tools/server/sample_decoder.h"

namespace runnel::server {

class RunnelProtocol : public Protocol {
 public:
  static constexpr int kVersion = 1;

  // `tokens` must outlive the protocol.
  explicit RunnelProtocol(const TokenTable& tokens) : tokens_(tokens) {}

  const char* name() const override { return "runnel"; }
  std::vector<ClientRequest> Read(const ClientMessage& message) override;
  std::vector<std::string> OnReady(const SessionInfo& info) override;
  std::vector<std::string> OnUpdate(const LiveUpdate& update) override;
  std::vector<std::string> OnSnapshot(const std::string& token, int64_t num_samples) override;
  std::vector<std::string> OnError(const ProtocolError& error) override;

 private:
  enum class Phase { kBeforeStart, kAudio, kFinished, kOver };

  ClientRequest ReadText(std::string_view text);
  ClientRequest ReadAudio(std::string_view bytes);
  ClientRequest ReadStart(JsonSection* message);
  ClientRequest ReadResume(JsonSection* message);
  ClientRequest ReadFinish();
  // The fields that `start` and `resume` share: how the client sends and what it wants to hear.
  void ReadClientSide(JsonSection* message);

  const TokenTable& tokens_;
  Phase phase_ = Phase::kBeforeStart;
  SampleDecoder decoder_{SampleEncoding::kPcm16};
  size_t nbest_ = 1;
  bool wants_tokens_ = true;
  int64_t num_stable_characters_ = 0;  // sent so far
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RUNNEL_PROTOCOL_H_
