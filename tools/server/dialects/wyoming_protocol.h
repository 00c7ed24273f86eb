// The Wyoming protocol, which Home Assistant speaks to speech recognisers.
#ifndef RUNNEL_TOOLS_SERVER_DIALECTS_WYOMING_PROTOCOL_H_
#define RUNNEL_TOOLS_SERVER_DIALECTS_WYOMING_PROTOCOL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/server/dialects/wyoming_event.h"
#include "tools/server/protocol/appended_text.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/samples/media_decoder.h"

namespace runnel::server {

// The event that answers `describe`: the server as a program with one model.
std::string WyomingInfo(const std::string& model_name, const std::vector<std::string>& languages);

// The conversation about one utterance. A connection has one of these after another. A message is
// one event (wyoming_event.h), whether text or binary. All texts returned are events.
class WyomingProtocol : public Protocol {
 public:
  // An event of this type starts the stream.
  static constexpr const char* kStart = "audio-start";

  // `info`: of WyomingInfo.
  explicit WyomingProtocol(std::string info) : info_(std::move(info)) {}

  const char* name() const override { return "wyoming"; }
  bool TakesLong(const ClientMessage& message) const override;
  std::vector<ClientRequest> Read(const ClientMessage& message) override;
  std::vector<ClientRequest> ReadMore(std::string_view rest) override;
  std::vector<std::string> OnReady(const SessionInfo& info) override;
  std::vector<std::string> OnUpdate(const LiveUpdate& update) override;
  std::vector<std::string> OnError(const ProtocolError& error) override;

 private:
  enum class Phase { kBeforeStart, kAudio, kOver };

  // Of the samples in payloads, little-endian integers.
  struct Format {
    int rate_hz = 0;
    int bytes_per_sample = 0;
    int channels = 0;
  };

  static Format ReadFormat(const WyomingEvent& event);
  std::vector<ClientRequest> ReadEvent(const WyomingEvent& event);
  std::vector<ClientRequest> ReadTranscribe(const WyomingEvent& event);
  std::vector<ClientRequest> ReadStart(const WyomingEvent& event);
  std::vector<ClientRequest> ReadChunk(const WyomingEvent& event);
  // The next part of the audio. `num_before`: bytes of the message before it.
  std::vector<ClientRequest> ReadAudio(std::string_view payload, size_t num_before);
  std::vector<ClientRequest> ReadStop();

  // `fields` and the language of the stream, if it has one.
  OrderedJson WithLanguage(OrderedJson fields) const;
  void BeginTranscript(std::vector<std::string>* texts);
  void AppendPiece(const std::string& piece, std::vector<std::string>* texts);

  const std::string info_;
  Phase phase_ = Phase::kBeforeStart;
  StartRequest start_;
  Format format_;                          // of audio-start
  std::unique_ptr<MediaDecoder> decoder_;  // null before audio-start
  std::string language_;                   // of the stream, or found in it; "": unknown
  AppendedText text_;
  bool has_begun_ = false;  // transcript-start was sent
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_DIALECTS_WYOMING_PROTOCOL_H_
