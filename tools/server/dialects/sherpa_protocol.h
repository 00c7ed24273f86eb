// The WebSocket protocol of sherpa-onnx's streaming server. docs/protocol.md lists the differences.
#ifndef RUNNEL_TOOLS_SERVER_DIALECTS_SHERPA_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_DIALECTS_SHERPA_PROTOCOL_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "runtime/live_update.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/samples/raw_sample_decoder.h"

namespace runnel::server {

class SherpaProtocol : public Protocol {
 public:
  // The first message is binary, or the text "Done" after no audio at all.
  static bool Recognizes(const ClientMessage& first, const nlohmann::json& json);

  // `tokens`, the model's, must outlive the protocol.
  explicit SherpaProtocol(const TokenTable& tokens) : text_tokens_(&tokens) {}

  const char* name() const override { return "sherpa"; }
  std::vector<ClientRequest> Read(const ClientMessage& message) override;
  std::vector<ClientRequest> ReadMore(std::string_view rest) override;
  std::vector<std::string> OnReady(const SessionInfo& info) override;
  std::vector<std::string> OnUpdate(const LiveUpdate& update) override;
  std::vector<std::string> OnError(const ProtocolError& error) override;

 private:
  std::string Ended(const Utterance& utterance, bool is_eof);
  std::string Running() const;

  const TokenTable* text_tokens_;  // from OnReady on SessionInfo::text_tokens
  bool has_started_ = false;
  bool is_over_ = false;
  RawSampleDecoder decoder_{SampleEncoding::kFloat32};
  LiveUpdate merged_;  // the updates of the present segment, without the utterances that ended
  double segment_start_ms_ = 0;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIALECTS_SHERPA_PROTOCOL_H_
