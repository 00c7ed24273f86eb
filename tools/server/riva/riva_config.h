// What a RecognitionConfig of NVIDIA Riva asks of a stream.
#ifndef RUNNEL_TOOLS_SERVER_RIVA_RIVA_CONFIG_H_
#define RUNNEL_TOOLS_SERVER_RIVA_RIVA_CONFIG_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "riva_asr.pb.h"
#include "runtime/token_table.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/samples/media_decoder.h"

namespace runnel::server {

// What the translation of a config needs to know about the model.
struct RivaModel {
  const TokenTable* tokens = nullptr;  // outlives this object
  std::string name;
  std::vector<std::string> languages;  // as of Model::languages
  int sample_rate_hz = 0;
};

// Which parts of a result a client wants.
struct RivaParts {
  size_t max_alternatives = 1;
  bool words = false;
  bool spaces = true;  // part the texts of the model
};

// The id that responses repeat: the client's, of at most 256 bytes, or `otherwise` when it gives
// none. In valid UTF-8.
std::string ResponseId(const nvidia::riva::RequestId& wanted, const std::string& otherwise);

// The options of a stream but for its sample rate, which may be in the header of the audio; with
// endpointing. Fields that ask for what no model does here are mistakes of the client: a profanity
// filter, diarization, several channels. Throws ClientMistake with kBadOption, naming the field.
StartRequest ReadRivaConfig(const nvidia::riva::asr::RecognitionConfig& config,
                            const RivaModel& model);

// To be called with a config that ReadRivaConfig accepts.
RivaParts PartsOf(const nvidia::riva::asr::RecognitionConfig& config, const RivaModel& model);

// Decodes the audio of a stream: WAV or Ogg Opus if it begins like that, whatever the encoding in
// the config is, else samples as the config describes them. Throws ClientMistake with kBadOption
// when it describes them wrongly.
std::unique_ptr<MediaDecoder> MakeRivaDecoder(const nvidia::riva::asr::RecognitionConfig& config,
                                              const RivaModel& model);

// The bytes of an audio file: the client's, with a WAV header in front of samples that have none.
// Throws ClientMistake as MakeRivaDecoder.
std::string RecordingFile(const nvidia::riva::asr::RecognitionConfig& config, std::string audio,
                          const RivaModel& model);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RIVA_RIVA_CONFIG_H_
