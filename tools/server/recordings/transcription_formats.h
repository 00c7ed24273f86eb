// The replies of OpenAI's POST /v1/audio/transcriptions, one class per format.
#ifndef RUNNEL_TOOLS_SERVER_RECORDINGS_TRANSCRIPTION_FORMATS_H_
#define RUNNEL_TOOLS_SERVER_RECORDINGS_TRANSCRIPTION_FORMATS_H_

#include <string>
#include <utility>

#include "runtime/live_update.h"
#include "runtime/text_joiner.h"
#include "tools/decode/formats/output_format.h"
#include "tools/server/protocol/appended_text.h"
#include "tools/server/recordings/recording_request.h"

namespace runnel::server {

// An event of an event stream (HTML standard, server-sent events). `json` is one line.
std::string ServerSentEvent(std::string json);

class EventStream : public RecordingFormat {
 public:
  std::string content_type() const override { return "text/event-stream"; }
  std::string Filler() const override { return ":\n\n"; }  // a comment, which clients pass over
  std::string ErrorPiece(const std::string& json) const override { return ServerSentEvent(json); }
  bool is_event_stream() const override { return true; }
};

// {"text","usage"}.
class TranscriptionJson : public RecordingFormat {
 public:
  std::string Finish(const RecordingResult& result) override;
};

// The text and a line break.
class TranscriptionText : public RecordingFormat {
 public:
  std::string content_type() const override { return "text/plain; charset=utf-8"; }
  std::string Finish(const RecordingResult& result) override;
  std::string Filler() const override { return ""; }
  std::string ErrorPiece(const std::string& /*json*/) const override { return ""; }
};

// Parts of a TranscriptionVerbose.
struct VerboseParts {
  bool segments = true;
  bool words = false;
};

// JSON with the utterances as segments, and with words.
class TranscriptionVerbose : public RecordingFormat {
 public:
  // `language`: that the client named, "" for none.
  TranscriptionVerbose(VerboseParts parts, std::string language)
      : parts_(parts), language_(std::move(language)) {}
  std::string Finish(const RecordingResult& result) override;

 private:
  const VerboseParts parts_;
  const std::string language_;
};

// Captions, as decode_wav writes them.
class TranscriptionCaptions : public RecordingFormat {
 public:
  // `format`: kSrt or kVtt.
  explicit TranscriptionCaptions(OutputFormat format) : format_(format) {}
  std::string content_type() const override;
  std::string Finish(const RecordingResult& result) override;
  std::string Filler() const override { return ""; }
  std::string ErrorPiece(const std::string& /*json*/) const override { return ""; }

 private:
  const OutputFormat format_;
};

// An event stream: the text in pieces while the recording is decoded, then the whole text.
class TranscriptionEvents : public EventStream {
 public:
  std::string Add(const LiveUpdate& update) override;
  std::string Finish(const RecordingResult& result) override;

 private:
  // The event of a piece, "" for none. begins_word: of the utterance.
  std::string Delta(std::string piece, bool begins_word);

  AppendedText text_;
  TextJoiner joiner_;             // of the utterances that have ended
  bool begins_utterance_ = true;  // no piece of the present one was sent
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RECORDINGS_TRANSCRIPTION_FORMATS_H_
