// An uploaded recording, and what is decoded of it.
#ifndef RUNNEL_TOOLS_SERVER_RECORDINGS_RECORDING_H_
#define RUNNEL_TOOLS_SERVER_RECORDINGS_RECORDING_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model.h"
#include "runtime/result.h"
#include "runtime/stream.h"
#include "runtime/token_table.h"
#include "tools/server/protocol/protocol.h"

namespace runnel::server {

struct Recording {
  StartRequest start;  // the options of the stream that decodes it
  std::string body;    // holds the audio file
  std::string advice;  // to a client whose audio cannot be read; may be ""
  size_t audio_begin = 0;
  size_t audio_size = 0;
  int audio_track = -1;  // as AudioReaderOptions has it

  // The audio file, within `body`.
  std::string_view audio() const { return std::string_view(body).substr(audio_begin, audio_size); }
};

// A recording that is about to be decoded.
struct RecordingStart {
  const Model& model;
  const StreamOptions& options;      // resolved
  std::optional<double> duration_s;  // by the header of the file
};

// A recording that is decoded to its end.
struct RecordingResult {
  const std::vector<Utterance>& utterances;  // all, at least one
  const StreamOptions& options;              // resolved
  const TokenTable& tokens;                  // of the texts
  double audio_ms = 0;                       // of the whole recording
  std::optional<double> announced_ms;        // by the header of a recording that ends earlier
  std::vector<std::string> warnings = {};    // AudioSource::Warnings
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RECORDINGS_RECORDING_H_
