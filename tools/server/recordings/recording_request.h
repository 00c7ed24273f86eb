// Requests of HTTP clients for a recording, and the interface of the formats of replies.
#ifndef RUNNEL_TOOLS_SERVER_RECORDINGS_RECORDING_REQUEST_H_
#define RUNNEL_TOOLS_SERVER_RECORDINGS_RECORDING_REQUEST_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/live_update.h"
#include "runtime/token_table.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/protocol_error.h"
#include "tools/server/recordings/multipart_form.h"
#include "tools/server/recordings/recording.h"

namespace runnel::server {

// A request is wrong. `param`: the field of a form; "" for none.
class FieldMistake : public ClientMistake {
 public:
  FieldMistake(ErrorCode code, std::string param, const std::string& message)
      : ClientMistake(code, message), param_(std::move(param)) {}
  const std::string& param() const { return param_; }

 private:
  std::string param_;
};

// Writes the body of the reply to one recording. The methods are called one at a time.
class RecordingFormat {
 public:
  virtual ~RecordingFormat() = default;
  virtual std::string content_type() const { return "application/json"; }
  // The piece that can be sent before the first update; "" for none.
  virtual std::string Begin(const RecordingStart& /*start*/) { return ""; }
  // The piece of the body that can be sent after this update of the stream, the final one included;
  // "" for none.
  virtual std::string Add(const LiveUpdate& /*update*/) { return ""; }
  // The rest of the body.
  virtual std::string Finish(const RecordingResult& result) = 0;

  // How a client is kept waiting. For any thread, and constant.
  // A piece that changes no meaning; "": the format has none. JSON may begin with blanks.
  virtual std::string Filler() const { return "\n"; }
  // The piece for an error, `json`, after others were sent with the status 200.
  virtual std::string ErrorPiece(const std::string& json) const { return json; }
  // Whether clients of an event stream look for such a piece. Others learn of an error by a body
  // that is not complete.
  virtual bool is_event_stream() const { return false; }
};

// The POST of a recording.
struct RecordingPost {
  std::string id;    // that the client and the log know the request by
  std::string path;  // of the URL
  std::vector<std::pair<std::string, std::string>> query;  // (name, value), decoded, in order
  std::string content_type;                                // of the body
  std::string body;
};

struct RecordingRequest {
  Recording recording;
  std::unique_ptr<RecordingFormat> format;
};

// POST /v1/recognize: the body is an audio file, or a form with the field `file`. The options are
// the fields of the URL and of the form (ReadStartQuery) and "audio_track". Throws FieldMistake.
RecordingRequest ReadRecognizeRequest(RecordingPost post, const TokenTable& tokens);

// The form of `content_type` in recording->body, whose field `file` is the audio. Returns the
// form's parts. Throws FieldMistake.
std::vector<FormPart> ReadFileForm(std::string_view content_type, Recording* recording);

// POST /v1/audio/transcriptions of OpenAI's interface: a form with the audio file and the options.
// Fields that this server does not know are passed over. Throws FieldMistake.
RecordingRequest ReadTranscriptionRequest(std::string_view content_type, std::string body,
                                          const TokenTable& tokens);

// What the reply to a recording of Deepgram's clients names.
struct ListenIds {
  std::string request;
  std::string model;
};

// POST /v1/listen of Deepgram's interface: the body is an audio file, the options are in `query`.
// Throws FieldMistake, also for a parameter that this server does not know (CheckParameters).
RecordingRequest ReadListenRequest(const std::vector<std::pair<std::string, std::string>>& query,
                                   std::string body, const TokenTable& tokens,
                                   const ListenIds& ids);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RECORDINGS_RECORDING_REQUEST_H_
