#include "tools/decode/formats/output_format.h"

#include <stdexcept>

#include "tools/decode/formats/caption_formatters.h"
#include "tools/decode/formats/recording_formatters.h"
#include "tools/decode/formats/utterance_formatters.h"

namespace runnel {
namespace {

[[noreturn]] void ThrowUnknown(const std::string& name) {
  throw std::invalid_argument("--format is '" + name + "', expected text, json, ctm, srt or vtt");
}

}  // namespace

OutputFormat ParseOutputFormat(const std::string& name) {
  if (name == "text") return OutputFormat::kText;
  if (name == "json") return OutputFormat::kJson;
  if (name == "ctm") return OutputFormat::kCtm;
  if (name == "srt" || name == "vtt") {
    throw std::invalid_argument("--format=" + name + " needs --endpointing");
  }
  ThrowUnknown(name);
}

OutputFormat ParseUtteranceFormat(const std::string& name) {
  if (name == "text") return OutputFormat::kUtteranceText;
  if (name == "json") return OutputFormat::kUtteranceJson;
  if (name == "ctm") return OutputFormat::kCtm;
  if (name == "srt") return OutputFormat::kSrt;
  if (name == "vtt") return OutputFormat::kVtt;
  ThrowUnknown(name);
}

std::unique_ptr<ResultFormatter> MakeFormatter(OutputFormat format, const std::string& id,
                                               int nbest, const TokenTable& tokens) {
  switch (format) {
    case OutputFormat::kText:
      return std::make_unique<RecordingText>(id, nbest);
    case OutputFormat::kJson:
      return std::make_unique<RecordingJson>(id, tokens);
    case OutputFormat::kUtteranceText:
      return std::make_unique<UtteranceText>(id, nbest);
    case OutputFormat::kJoinedText:
      return std::make_unique<JoinedText>(id);
    case OutputFormat::kUtteranceJson:
      return std::make_unique<UtteranceJson>(id, tokens);
    case OutputFormat::kSrt:
      return std::make_unique<SubRip>(tokens);
    case OutputFormat::kVtt:
      return std::make_unique<WebVtt>(tokens);
    case OutputFormat::kCtm:
      return std::make_unique<Ctm>(id);
  }
  throw std::logic_error("unknown output format");
}

}  // namespace runnel
