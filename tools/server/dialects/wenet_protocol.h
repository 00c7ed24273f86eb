// The WebSocket protocol of WeNet's server. docs/protocol.md lists the differences.
#ifndef RUNNEL_TOOLS_SERVER_DIALECTS_WENET_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_DIALECTS_WENET_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/live_update.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/samples/raw_sample_decoder.h"

namespace runnel::server {

class WenetProtocol : public Protocol {
 public:
  // The first message is an object with "signal".
  static bool Recognizes(const ClientMessage& first, const nlohmann::json& json);

  // `tokens` must outlive the protocol.
  explicit WenetProtocol(const TokenTable& tokens) : tokens_(tokens) {}

  const char* name() const override { return "wenet"; }
  std::vector<ClientRequest> Read(const ClientMessage& message) override;
  std::vector<ClientRequest> ReadMore(std::string_view rest) override;
  std::vector<std::string> OnReady(const SessionInfo& info) override;
  std::vector<std::string> OnUpdate(const LiveUpdate& update) override;
  std::vector<std::string> OnError(const ProtocolError& error) override;

 private:
  enum class Phase { kBeforeStart, kAudio, kOver };

  ClientRequest ReadSignal(const ClientMessage& text);
  StartRequest ReadStart(const nlohmann::json& message);
  // The list of results as JSON text, which the protocol sends as a string.
  std::string FinalNBest(const std::vector<Hypothesis>& nbest) const;
  std::string FinalResult(const Utterance& utterance) const;

  const TokenTable& tokens_;
  Phase phase_ = Phase::kBeforeStart;
  RawSampleDecoder decoder_{SampleEncoding::kPcm16};
  size_t nbest_ = 1;
  LiveUpdate merged_;  // the updates of the present utterance, which it does not hold
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIALECTS_WENET_PROTOCOL_H_
