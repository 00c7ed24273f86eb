// The WebSocket protocol of Vosk's server. docs/protocol.md lists the differences.
#ifndef RUNNEL_TOOLS_SERVER_DIALECTS_VOSK_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_DIALECTS_VOSK_PROTOCOL_H_

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/live_update.h"
#include "runtime/token_table.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/samples/media_decoder.h"

namespace runnel::server {

// Clients send a binary message and wait for one answer to it. The answer is made when the message
// is read, before its audio is decoded: all results that the client has not received, or else the
// text so far.
class VoskProtocol : public Protocol {
 public:
  // The path is /vosk, or the client offers the subprotocol "ws".
  static bool IsFor(const Opening& opening);
  // The first message is an object with "config".
  static bool Recognizes(const ClientMessage& first, const nlohmann::json& json);
  // Whether reading a text message may prepare hotwords. Even one takes some milliseconds when the
  // vocabulary is large.
  static bool PreparesHotwords(std::string_view text);

  // `tokens` must outlive the protocol.
  explicit VoskProtocol(const TokenTable& tokens) : tokens_(tokens) {}
  VoskProtocol(const Opening& opening, const TokenTable& tokens);

  const char* name() const override { return "vosk"; }
  std::string subprotocol() const override { return subprotocol_; }
  Closing CloseAfter(const ProtocolError& error) const override;
  bool TakesLong(const ClientMessage& message) const override;
  bool uses_process() const override { return decoder_ != nullptr && decoder_->uses_process(); }
  std::vector<ClientRequest> Read(const ClientMessage& message) override;
  std::vector<ClientRequest> ReadMore(std::string_view rest) override;
  // Push-to-talk programs send audio only while somebody speaks.
  bool may_be_silent() const override { return true; }
  std::vector<std::string> OnReady(const SessionInfo& info) override;
  std::vector<std::string> OnUpdate(const LiveUpdate& update) override;
  std::vector<std::string> OnError(const ProtocolError& error) override;

 private:
  // kEnding: the client has sent all audio, which is not decoded yet.
  enum class Phase { kBeforeStart, kAudio, kEnding, kOver };

  std::vector<ClientRequest> ReadText(const ClientMessage& text);
  std::vector<ClientRequest> ReadAudio(std::string_view bytes);
  // The next part of what only the end of the audio completes.
  std::vector<ClientRequest> ReadEnd(std::vector<float> samples);
  void ReadConfig(const nlohmann::json& message);
  StartRequest Start();
  // The decoder of the audio, which the first audio makes.
  MediaDecoder* decoder();

  std::string NextAnswer();
  // The message of an utterance.
  std::string Result(const std::vector<Hypothesis>& nbest) const;
  // One message for all results that the client has not received, of which none is lost so.
  std::string AllResults();
  // AllResults at the end of the audio, with the warnings of a recording.
  std::string LastResults();

  const TokenTable& tokens_;
  const std::string subprotocol_;
  Phase phase_ = Phase::kBeforeStart;
  StartRequest start_;
  int sample_rate_hz_ = 8000;  // of the config
  bool shows_words_ = true;
  size_t max_alternatives_ = 0;                 // 0: a result is one text, without alternatives
  std::unique_ptr<MediaDecoder> decoder_;       // null before the first audio
  LiveUpdate merged_;                           // the updates of the present utterance
  std::vector<std::vector<Hypothesis>> ended_;  // results that the client has not received
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIALECTS_VOSK_PROTOCOL_H_
