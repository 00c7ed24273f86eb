// The WebSocket protocol of Deepgram's live transcription. docs/protocol.md lists the differences.
#ifndef RUNNEL_TOOLS_SERVER_DIALECTS_DEEPGRAM_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_DIALECTS_DEEPGRAM_PROTOCOL_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/live_update.h"
#include "runtime/snapshot/sha256.h"
#include "runtime/token_table.h"
#include "tools/json/json_text.h"
#include "tools/server/dialects/deepgram_options.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server {

class DeepgramProtocol : public Protocol {
 public:
  static constexpr std::string_view kPath = "/v1/listen";
  static constexpr std::string_view kOtherPath = "/v2/listen";  // of another protocol

  // Also for the other protocol, which is refused.
  static bool IsFor(const Opening& opening);

  // `tokens` must outlive the protocol. Throws ClientMistake with kBadOption for a query that
  // cannot be served, and with kUnknownVersion for /v2/listen.
  DeepgramProtocol(const Opening& opening, const TokenTable& tokens);

  const char* name() const override { return "deepgram"; }
  std::string subprotocol() const override { return subprotocol_; }
  std::vector<std::pair<std::string, std::string>> headers() const override;
  Closing CloseAfter(const ProtocolError& error) const override;
  bool TakesLong(const ClientMessage& message) const override;
  bool uses_process() const override { return options_.decoder->uses_process(); }
  std::vector<ClientRequest> Read(const ClientMessage& message) override;
  std::vector<ClientRequest> ReadMore(std::string_view rest) override;
  std::vector<std::string> OnReady(const SessionInfo& info) override;
  std::vector<std::string> OnUpdate(const LiveUpdate& update) override;
  std::vector<std::string> OnError(const ProtocolError& error) override;

 private:
  // kEnding: the client has sent all audio, which is not decoded yet.
  enum class Phase { kBeforeStart, kAudio, kEnding, kFinished, kOver };

  std::vector<ClientRequest> ReadText(const ClientMessage& text);
  // The next part of the audio.
  std::vector<ClientRequest> ReadAudio(std::string_view bytes);
  // The next part of what only the end of the audio completes.
  std::vector<ClientRequest> ReadEnd(std::vector<float> samples);
  StartRequest Start();
  // A Results message: the words and the audio that it covers, which begins at stretch_start_ms_.
  // Its other fields are in `kind`.
  std::string Results(const std::string& text, const std::vector<Word>& words,
                      const std::vector<std::string>& languages, double end_ms,
                      const OrderedJson& kind) const;
  std::string EmptyFinalize() const;
  std::string Metadata();
  void AppendFinal(const Utterance& utterance, std::vector<std::string>* texts);
  void AppendRunning(std::vector<std::string>* texts);
  // UtteranceEnd, if no word began from the last final one until `gap_end_ms` and that is long.
  void AppendUtteranceEnd(double gap_end_ms, std::vector<std::string>* texts);
  // An empty final result, if silence ends speech whose final result could not say that. Whether it
  // does.
  bool AppendEndOfSpeech(std::vector<std::string>* texts);
  void AppendSpeechStarted(double start_ms, std::vector<std::string>* texts);

  const TokenTable& tokens_;
  const TokenTable* text_tokens_;  // from OnReady on SessionInfo::text_tokens
  const std::string request_id_;
  std::string subprotocol_;
  DeepgramOptions options_;
  std::string created_;  // when the connection was opened, ISO 8601
  Phase phase_ = Phase::kBeforeStart;
  std::string model_name_;
  std::string language_;  // of the stream; "": the model has no languages
  bool has_found_language_ = false;
  Sha256 audio_hash_;        // of the bytes of the client
  bool has_bytes_ = false;   // some came
  int64_t num_samples_ = 0;  // handed to the stream
  int sample_rate_hz_ = 0;
  LiveUpdate merged_;             // the updates of the present utterance, which it does not hold
  double stretch_start_ms_ = 0;   // where the last final result ended
  double last_word_end_ms_ = -1;  // of the final results; -1: none, or UtteranceEnd was sent
  // The start of the last token whose final result was not speech_final: its utterance ended by its
  // length or by Finalize. -1: none.
  double open_speech_ms_ = -1;
  double silence_ms_ = 0;            // at the end of an utterance, of the stream
  bool has_speech_started_ = false;  // SpeechStarted was sent for the present utterance
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIALECTS_DEEPGRAM_PROTOCOL_H_
