// Runnel's own protocol, version 1, which docs/protocol.md specifies.
#ifndef RUNNEL_TOOLS_SERVER_DIALECTS_RUNNEL_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_DIALECTS_RUNNEL_PROTOCOL_H_

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
#include "tools/server/protocol/result_messages.h"
#include "tools/server/samples/sample_decoder.h"

namespace runnel::server {

class RunnelProtocol : public Protocol {
 public:
  static constexpr int kVersion = 1;

  // The first message is an object with "type".
  static bool Recognizes(const ClientMessage& first, const nlohmann::json& json);
  // Whether reading a text message may prepare hotwords. Even one takes some milliseconds when the
  // vocabulary is large.
  static bool PreparesHotwords(std::string_view text);

  // `tokens` must outlive the protocol.
  explicit RunnelProtocol(const TokenTable& tokens) : tokens_(tokens) {}

  const char* name() const override { return "runnel"; }
  bool TakesLong(const ClientMessage& message) const override;
  std::vector<ClientRequest> Read(const ClientMessage& message) override;
  std::vector<ClientRequest> ReadMore(std::string_view rest) override;
  std::vector<std::string> OnReady(const SessionInfo& info) override;
  std::vector<std::string> OnUtterances(const std::vector<Utterance>& utterances) override;
  std::vector<std::string> OnUpdate(const LiveUpdate& update) override;
  std::vector<std::string> OnSnapshot(const std::string& token, int64_t num_samples) override;
  std::vector<std::string> OnError(const ProtocolError& error) override;

 private:
  enum class Phase { kBeforeStart, kAudio, kFinished, kOver };

  ClientRequest ReadText(const ClientMessage& text);
  std::vector<ClientRequest> ReadAudio(std::string_view bytes);
  ClientRequest ReadStart(JsonSection* message);
  ClientRequest ReadResume(JsonSection* message);
  ClientRequest ReadFlush() const;
  ClientRequest ReadFinish();
  // Reads the fields that `start` and `resume` share but for "nbest".
  void ReadCommonFields(JsonSection* message);
  // Throws unless audio may come now. `message`: the name of the client's message.
  void RequireAudioPhase(const char* message) const;
  // Messages of the first `count` utterances but for those that the client has.
  void AppendMessages(const std::vector<Utterance>& utterances, size_t count,
                      std::vector<std::string>* texts) const;
  std::string Partial(const LiveUpdate& update);

  const TokenTable& tokens_;
  Phase phase_ = Phase::kBeforeStart;
  std::unique_ptr<SampleDecoder> decoder_ = MakeSampleDecoder(SampleEncoding::kPcm16);
  ResultParts parts_;
  int64_t first_utterance_ = 0;        // the client has those before it
  int64_t num_stable_characters_ = 0;  // of the utterance, sent so far
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIALECTS_RUNNEL_PROTOCOL_H_
