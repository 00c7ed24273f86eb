// Runnel's own protocol, version 1, which docs/protocol.md specifies.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_RUNNEL_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_RUNNEL_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "encoder/json/json_section.h"
#include "runtime/token_table.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/protocol/sample_decoder.h"

namespace runnel::server {

// The final message. It is also the body of the reply to an uploaded recording.
std::string FinalMessage(const LiveUpdate& update, size_t max_results, bool wants_tokens,
                         const TokenTable& tokens);

class RunnelProtocol : public Protocol {
 public:
  static constexpr int kVersion = 1;

  // The first message is an object with "type".
  static bool Recognizes(const ClientMessage& first, const nlohmann::json& json);

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
  // Reads the fields that `start` and `resume` share but for "nbest".
  void ReadCommonFields(JsonSection* message);

  const TokenTable& tokens_;
  Phase phase_ = Phase::kBeforeStart;
  std::unique_ptr<SampleDecoder> decoder_ = MakeSampleDecoder(SampleEncoding::kPcm16);
  size_t nbest_ = 1;
  bool wants_tokens_ = true;
  int64_t num_stable_characters_ = 0;  // sent so far
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_RUNNEL_PROTOCOL_H_
