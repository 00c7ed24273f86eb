// The WebSocket protocol of OpenAI's Realtime API, for transcription. docs/protocol.md lists what
// is supported.
#ifndef RUNNEL_TOOLS_SERVER_DIALECTS_OPENAI_REALTIME_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_DIALECTS_OPENAI_REALTIME_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/live_update.h"
#include "tools/server/dialects/openai_session.h"
#include "tools/server/protocol/appended_text.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/samples/base64.h"
#include "tools/server/samples/raw_sample_decoder.h"

namespace runnel::server {

// An utterance is an item of the interface's conversation. Item k is utterance k, so that its id is
// known when its first text is stable.
class OpenAiRealtimeProtocol : public Protocol {
 public:
  static constexpr const char* kPath = "/v1/realtime";

  static bool IsFor(const Opening& opening) { return opening.path == kPath; }

  // `tokens` must outlive the protocol.
  OpenAiRealtimeProtocol(const Opening& opening, const TokenTable& tokens);

  const char* name() const override { return "openai"; }
  std::string subprotocol() const override { return subprotocol_; }
  // The audio in a message, which is base64, may have 15 times the limit.
  size_t MaxMessageBytes(size_t limit) const override;
  // A client that talks now and then sends nothing in between.
  bool may_be_silent() const override { return true; }
  Closing CloseAfter(const ProtocolError& error) const override;
  std::vector<ClientRequest> Open() override;
  bool TakesLong(const ClientMessage& message) const override;
  std::vector<ClientRequest> Read(const ClientMessage& message) override;
  std::vector<ClientRequest> ReadMore(std::string_view rest) override;
  std::vector<std::string> OnReady(const SessionInfo& info) override;
  std::vector<std::string> OnUpdate(const LiveUpdate& update) override;
  std::vector<std::string> OnError(const ProtocolError& error) override;

 private:
  // A flush that the stream has not answered yet.
  struct Flush {
    bool clears = false;   // its utterance is dropped
    std::string event_id;  // of the client's event; "" for none
    double audio_ms = 0;   // before it
  };

  std::vector<ClientRequest> ReadText(std::string_view text, std::string* event_id);
  std::vector<ClientRequest> ReadEvent(const nlohmann::json& event, const std::string& event_id);
  std::vector<ClientRequest> ReadUpdate(const nlohmann::json& event, const std::string& answer);
  std::vector<ClientRequest> ReadAppend(const nlohmann::json& event);
  // An append of more than kMaxControlBytes.
  std::vector<ClientRequest> ReadLongAppend(std::string_view text, std::string* event_id);
  // The next part of the audio of a long append. `num_before`: bytes of the message before it.
  void ReadPart(std::string_view text, size_t num_before, std::vector<ClientRequest>* requests);
  void StartOnce(std::vector<ClientRequest>* requests);
  // Audio that is no samples, such as a file, ends the session: all that follows is a part of it.
  void AddAudio(std::string_view bytes, std::vector<ClientRequest>* requests);
  std::vector<ClientRequest> ReadCommit(const std::string& event_id);
  std::vector<ClientRequest> ReadClear();

  double ToMs(int64_t num_samples) const;
  // Milliseconds of audio since the last flush.
  double WaitingMs() const { return ToMs(num_samples_ - num_flushed_samples_); }
  FlushRequest BeginFlush(bool clears, const std::string& event_id);
  // The flush that ended an utterance at `end_ms`. `num_empty` flushes of the update ended none;
  // those before this flush are answered.
  Flush TakeFlush(double end_ms, int64_t* num_empty, std::vector<std::string>* texts);
  void AnswerEmptyFlush(std::vector<std::string>* texts);

  void EndItem(const Utterance& utterance, int64_t* num_empty, std::vector<std::string>* texts);
  // Whether an utterance of the audio before `end_ms`, that the server ended, belongs to a clear.
  bool IsCleared(double end_ms) const;
  // `end_ms`: where the audio of the item ends.
  void CommitItem(const Utterance& utterance, double end_ms, std::vector<std::string>* texts);
  void ContinueItem(const LiveUpdate& update, std::vector<std::string>* texts);
  void BeginSpeech(int64_t index, double start_ms, std::vector<std::string>* texts);
  void AppendDelta(int64_t index, const std::string& delta, std::vector<std::string>* texts);

  std::string Event(const char* type, const OrderedJson& fields);
  std::string ErrorEvent(const char* type, const std::string& code, const std::string& message,
                         const std::string& param, const std::string& event_id);
  std::string ItemId(int64_t index) const;
  std::string CodeOf(ErrorCode code) const;

  const TokenTable& tokens_;
  const std::string session_id_;
  const std::string subprotocol_;
  const bool has_transcription_intent_;
  // Why the connection cannot be served: code and message, "" when it can.
  const std::pair<std::string, std::string> refusal_;
  OpenAiSession session_;
  bool is_over_ = false;
  int64_t num_events_ = 0;  // sent

  // Audio.
  std::optional<RawSampleDecoder> decoder_;  // empty before the stream is started
  JsonBase64Reader base64_;                  // of a long append
  size_t num_left_ = 0;                      // its characters that were not read
  int64_t num_samples_ = 0;
  int64_t num_flushed_samples_ = 0;
  std::deque<Flush> flushes_;

  // Items.
  OrderedJson last_item_id_;  // of the item that was committed last; null before the first
  double last_end_ms_ = 0;    // end of the last utterance
  bool has_speech_ = false;   // speech_started was sent for the present item
  AppendedText text_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIALECTS_OPENAI_REALTIME_PROTOCOL_H_
